-- What was forgotten on purpose. The text is gone; that it was taken, by whom, when and why, stays in its operation.

-- what: memory (one or several), secret (a text wherever it stood), before (what is older than a day).
-- taken: JSON, how many of each kind. swept_at: when freed pages and the log were cleaned as well; NULL: not yet.
CREATE TABLE purge (
    operation INTEGER PRIMARY KEY REFERENCES operation (seq),
    what      TEXT NOT NULL CHECK (what IN ('memory', 'secret', 'before')),
    taken     TEXT NOT NULL,
    swept_at  INTEGER
) STRICT;

-- Where memories stood that are gone, so that whoever asks for one hears why. digest: of the store's id and the path's
-- collision key, for not even the name stays.
CREATE TABLE purged (
    digest    BLOB NOT NULL,
    operation INTEGER NOT NULL REFERENCES purge (operation),
    PRIMARY KEY (digest, operation)
) STRICT, WITHOUT ROWID;

-- The operations that lost something by it: they cannot be taken back any more.
CREATE TABLE purge_reach (
    reached   INTEGER NOT NULL REFERENCES operation (seq),
    operation INTEGER NOT NULL REFERENCES purge (operation),
    PRIMARY KEY (reached, operation)
) STRICT, WITHOUT ROWID;

-- Holds its one row only inside the transaction of a purge: no other ever sees it, and history is append-only without.
CREATE TABLE purge_permit (id INTEGER PRIMARY KEY CHECK (id = 1)) STRICT;

CREATE TRIGGER purge_stays BEFORE DELETE ON purge
BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER purged_stays BEFORE DELETE ON purged
BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;

DROP TRIGGER operation_keeps;
DROP TRIGGER text_stays;
DROP TRIGGER text_keeps;
DROP TRIGGER version_stays;
DROP TRIGGER version_keeps;
DROP TRIGGER line_version_stays;
DROP TRIGGER line_version_keeps;
DROP TRIGGER source_stays;
DROP TRIGGER source_keeps;
DROP TRIGGER log_entry_stays;
DROP TRIGGER log_entry_keeps;

CREATE TRIGGER operation_keeps BEFORE UPDATE ON operation WHEN NOT EXISTS (SELECT 1 FROM purge_permit)
BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER text_stays BEFORE DELETE ON text WHEN NOT EXISTS (SELECT 1 FROM purge_permit)
BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER text_keeps BEFORE UPDATE ON text WHEN NOT EXISTS (SELECT 1 FROM purge_permit)
BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER version_stays BEFORE DELETE ON version WHEN NOT EXISTS (SELECT 1 FROM purge_permit)
BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER version_keeps BEFORE UPDATE ON version WHEN NOT EXISTS (SELECT 1 FROM purge_permit)
BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER line_version_stays BEFORE DELETE ON line_version WHEN NOT EXISTS (SELECT 1 FROM purge_permit)
BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER line_version_keeps BEFORE UPDATE ON line_version WHEN NOT EXISTS (SELECT 1 FROM purge_permit)
BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER source_stays BEFORE DELETE ON source WHEN NOT EXISTS (SELECT 1 FROM purge_permit)
BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER source_keeps BEFORE UPDATE ON source WHEN NOT EXISTS (SELECT 1 FROM purge_permit)
BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER log_entry_stays BEFORE DELETE ON log_entry WHEN NOT EXISTS (SELECT 1 FROM purge_permit)
BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER log_entry_keeps BEFORE UPDATE ON log_entry WHEN NOT EXISTS (SELECT 1 FROM purge_permit)
BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
