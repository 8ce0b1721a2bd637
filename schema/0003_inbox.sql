-- What sessions did to the files of a folder, as their hooks saw it: one row a call, worked in by whoever comes next.
-- A hook is short-lived and knows no other table, so the texts stand here as they came until they are worked in.
--
-- id: the call's own. kind: load (the index, as a session is about to load it), read, write, edit.
-- state: open (the call is about to begin), done (it happened), settled (worked in);
--        dead (nothing was heard of it in time), heard (nothing was, but the file tells that it happened).
-- found: what lay there when the call was about to begin. original: what it overwrote; NULL: no file.
-- result: what it wrote, read or loaded; while open or dead, what it is expected to write. taken: the result of a heard one.
CREATE TABLE inbox (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    id        TEXT NOT NULL UNIQUE,
    kind      TEXT NOT NULL CHECK (kind IN ('load', 'read', 'write', 'edit')),
    state     TEXT NOT NULL CHECK (state IN ('open', 'done', 'settled', 'dead', 'heard')),
    folder    TEXT NOT NULL,
    name      TEXT NOT NULL,
    session   TEXT NOT NULL,
    message   TEXT,
    worktree  TEXT,
    branch    TEXT,
    found     ANY,
    original  ANY,
    result    ANY,
    taken     ANY,
    at        INTEGER NOT NULL,
    operation INTEGER REFERENCES operation (seq)
) STRICT;

CREATE INDEX inbox_waiting ON inbox (folder, name) WHERE state IN ('open', 'done');
CREATE INDEX inbox_given_up ON inbox (folder) WHERE state = 'dead';
CREATE INDEX inbox_operation ON inbox (operation) WHERE operation IS NOT NULL;

-- What a session last loaded, read or wrote under a name: the merge base of its writes.
-- loaded: the client cut it to what it loads at the start of a session.
CREATE TABLE seen (
    session TEXT NOT NULL,
    folder  TEXT NOT NULL,
    name    TEXT NOT NULL,
    text    INTEGER NOT NULL REFERENCES text (id),
    loaded  INTEGER NOT NULL CHECK (loaded IN (0, 1)),
    at      INTEGER NOT NULL,
    PRIMARY KEY (session, folder, name)
) STRICT, WITHOUT ROWID;

-- Texts that became known under a name since its B: results of sessions, what they overwrote, and what is about to be
-- put there (put). A file that says one of them holds no news.
CREATE TABLE known_since (
    folder INTEGER NOT NULL REFERENCES folder (pk),
    name   TEXT NOT NULL,
    text   INTEGER NOT NULL REFERENCES text (id),
    put    INTEGER NOT NULL CHECK (put IN (0, 1)),
    at     INTEGER NOT NULL,
    PRIMARY KEY (folder, name, text)
) STRICT, WITHOUT ROWID;

-- Files that came out of a projection and wait to be taken in, by the name they are kept under (see files/temporary.py).
-- n: the text's place in shown_before, until it is taken in: so long nothing of it is known, although it stands there.
-- base: what had been shown under the name before; since: a JSON array of the texts that were known since then.
CREATE TABLE kept (
    folder INTEGER NOT NULL REFERENCES folder (pk),
    path   TEXT NOT NULL,
    name   TEXT NOT NULL,
    n      INTEGER,
    memory INTEGER REFERENCES memory (pk),
    base   INTEGER REFERENCES text (id),
    lines  TEXT,
    since  TEXT NOT NULL,
    PRIMARY KEY (folder, path)
) STRICT, WITHOUT ROWID;
