-- What can be found. memstore/core/terms.py makes the terms; here they only lie and are indexed, so that every
-- tool with plain SQLite can read and write these tables.
-- The tokenizer takes each character but white space and controls as part of a term.
-- A single Han character is the prefix of many pairs: without an index of first characters it takes ten times as long.

CREATE TABLE search_document (
    memory      INTEGER PRIMARY KEY REFERENCES memory (pk),
    name        TEXT NOT NULL,
    description TEXT NOT NULL,
    body        TEXT NOT NULL
) STRICT;

CREATE VIRTUAL TABLE search_index USING fts5(
    name, description, body,
    content="search_document", content_rowid="memory",
    prefix="1",
    tokenize="porter unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co Cn'"
);

CREATE TRIGGER search_document_insert AFTER INSERT ON search_document BEGIN
    INSERT INTO search_index (rowid, name, description, body)
    VALUES (new.memory, new.name, new.description, new.body);
END;

CREATE TRIGGER search_document_delete AFTER DELETE ON search_document BEGIN
    INSERT INTO search_index (search_index, rowid, name, description, body)
    VALUES ('delete', old.memory, old.name, old.description, old.body);
END;

CREATE TRIGGER search_document_update AFTER UPDATE ON search_document BEGIN
    INSERT INTO search_index (search_index, rowid, name, description, body)
    VALUES ('delete', old.memory, old.name, old.description, old.body);
    INSERT INTO search_index (rowid, name, description, body)
    VALUES (new.memory, new.name, new.description, new.body);
END;

-- What an older store holds is segmented as soon as it is open.
UPDATE store SET terms_version = 0;
