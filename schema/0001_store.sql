-- The truth: operations, memories and their versions, the index, what was shown where.
-- Times are unix microseconds. Ids are UUIDv7. Text is kept as the bytes somebody wrote.

CREATE TABLE store (
    id            TEXT PRIMARY KEY,
    created_at    INTEGER NOT NULL,
    terms_version INTEGER NOT NULL
) STRICT;

-- One committed transaction: who, why, from where. seq is the commit order.
CREATE TABLE operation (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    id        TEXT NOT NULL UNIQUE,
    kind      TEXT NOT NULL,
    digest    BLOB NOT NULL,
    at        INTEGER NOT NULL,
    origin    TEXT NOT NULL CHECK (origin IN ('person', 'agent', 'file', 'team', 'import', 'tool')),
    author    TEXT NOT NULL,
    session   TEXT,
    worktree  TEXT,
    branch    TEXT,
    commit_id TEXT,
    reason    TEXT NOT NULL,
    undoes    TEXT
) STRICT;

CREATE INDEX operation_session ON operation (session, seq) WHERE session IS NOT NULL;

-- Every text that anybody wrote, once. content is TEXT, or a BLOB where it is not UTF-8.
-- digest: of the bytes. calm: of the text without the client's stamps.
CREATE TABLE text (
    id      INTEGER PRIMARY KEY,
    digest  BLOB NOT NULL UNIQUE,
    calm    BLOB NOT NULL,
    content ANY NOT NULL
) STRICT;

CREATE INDEX text_calm ON text (calm);

-- Where each memory stands now.
CREATE TABLE memory (
    pk            INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    scope         TEXT NOT NULL,
    layer         TEXT NOT NULL,
    path          TEXT NOT NULL,
    path_key      TEXT NOT NULL,
    version       INTEGER NOT NULL,
    token         TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('live', 'retired')),
    pinned        INTEGER NOT NULL CHECK (pinned IN (0, 1)),
    superseded_by INTEGER REFERENCES memory (pk),
    name          TEXT NOT NULL,
    description   TEXT NOT NULL,
    type          TEXT,
    text          INTEGER NOT NULL REFERENCES text (id),
    origin        TEXT NOT NULL,
    listing       TEXT NOT NULL CHECK (listing IN ('listed', 'due', 'unlisted')),
    due_at        INTEGER,
    operation     INTEGER NOT NULL REFERENCES operation (seq),
    created_at    INTEGER NOT NULL,
    changed_at    INTEGER NOT NULL
) STRICT;

-- An address belongs to one living memory; a retired one keeps its path but not the claim to it.
CREATE UNIQUE INDEX memory_address ON memory (scope, layer, path_key) WHERE state = 'live';
CREATE INDEX memory_path ON memory (path_key);
CREATE INDEX memory_changed ON memory (changed_at);
CREATE INDEX memory_operation ON memory (operation);
CREATE INDEX memory_due ON memory (pk) WHERE listing = 'due' AND state = 'live';
CREATE INDEX memory_corrected ON memory (superseded_by) WHERE superseded_by IS NOT NULL;

-- All that was ever written of a memory.
CREATE TABLE version (
    pk            INTEGER PRIMARY KEY,
    memory        INTEGER NOT NULL REFERENCES memory (pk),
    number        INTEGER NOT NULL,
    token         TEXT NOT NULL,
    parent        TEXT,
    change        TEXT NOT NULL,
    scope         TEXT NOT NULL,
    layer         TEXT NOT NULL,
    path          TEXT NOT NULL,
    state         TEXT NOT NULL,
    pinned        INTEGER NOT NULL,
    superseded_by INTEGER,
    name          TEXT NOT NULL,
    description   TEXT NOT NULL,
    type          TEXT,
    text          INTEGER NOT NULL REFERENCES text (id),
    origin        TEXT NOT NULL,
    operation     INTEGER NOT NULL REFERENCES operation (seq),
    UNIQUE (memory, number),
    UNIQUE (memory, token)
) STRICT;

CREATE INDEX version_operation ON version (operation);
CREATE INDEX version_text ON version (text);

-- The index, MEMORY.md, as rows: each line free text, a pointer to a memory, or a pointer made by us (auto).
CREATE TABLE line (
    pk        INTEGER PRIMARY KEY,
    id        TEXT NOT NULL UNIQUE,
    scope     TEXT NOT NULL,
    layer     TEXT NOT NULL,
    rank      TEXT NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('free', 'pointer', 'auto')),
    text      TEXT NOT NULL,
    memory    INTEGER REFERENCES memory (pk),
    hook_by   TEXT NOT NULL CHECK (hook_by IN ('hand', 'derived')),
    live      INTEGER NOT NULL CHECK (live IN (0, 1)),
    version   INTEGER NOT NULL,
    operation INTEGER NOT NULL REFERENCES operation (seq)
) STRICT;

CREATE INDEX line_order ON line (scope, layer, rank) WHERE live = 1;
CREATE INDEX line_free ON line (scope, layer) WHERE kind = 'free' AND live = 1;
CREATE INDEX line_operation ON line (operation);
CREATE INDEX line_memory ON line (memory) WHERE memory IS NOT NULL;

CREATE TABLE line_version (
    line      INTEGER NOT NULL REFERENCES line (pk),
    version   INTEGER NOT NULL,
    rank      TEXT NOT NULL,
    kind      TEXT NOT NULL,
    text      TEXT NOT NULL,
    memory    INTEGER,
    hook_by   TEXT NOT NULL,
    live      INTEGER NOT NULL,
    operation INTEGER NOT NULL REFERENCES operation (seq),
    PRIMARY KEY (line, version)
) STRICT, WITHOUT ROWID;

CREATE INDEX line_version_operation ON line_version (operation);

-- The folders that the store projects into, and the directories that were imported.
-- shows: every operation up to this one is on its files. gone_at: since when it is missing or empty.
-- stamp: the directory's own stamp at the last whole scan.
CREATE TABLE folder (
    pk       INTEGER PRIMARY KEY,
    path     TEXT NOT NULL UNIQUE,
    taken_at INTEGER NOT NULL,
    gone_at  INTEGER,
    shows    INTEGER NOT NULL DEFAULT 0,
    stamp    TEXT
) STRICT;

-- What was last put or accepted under a name: the merge base of an edit that is nobody's.
-- stamp: "size mtime_ns ctime_ns inode" of the file then; NULL where it must be read again.
-- lines: for the index, a JSON array of [line id, version] for each line shown.
-- flagged: a JSON array of the lines that were kept once against the file's wish.
CREATE TABLE shown (
    folder        INTEGER NOT NULL REFERENCES folder (pk),
    name          TEXT NOT NULL,
    memory        INTEGER REFERENCES memory (pk),
    version       INTEGER NOT NULL,
    text          INTEGER NOT NULL REFERENCES text (id),
    stamp         TEXT,
    missing_since INTEGER,
    lines         TEXT,
    flagged       TEXT,
    PRIMARY KEY (folder, name)
) STRICT, WITHOUT ROWID;

-- Every text that was shown under a name before, oldest first. put: it gave way to a projection, not to a save.
CREATE TABLE shown_before (
    folder INTEGER NOT NULL,
    name   TEXT NOT NULL,
    n      INTEGER NOT NULL,
    text   INTEGER NOT NULL REFERENCES text (id),
    put    INTEGER NOT NULL CHECK (put IN (0, 1)),
    at     INTEGER NOT NULL,
    PRIMARY KEY (folder, name, n)
) STRICT, WITHOUT ROWID;

-- Two texts for one place that could not be merged.
CREATE TABLE conflict (
    pk          INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    memory      INTEGER REFERENCES memory (pk),
    path        TEXT NOT NULL,
    kind        TEXT NOT NULL,
    base        INTEGER REFERENCES text (id),
    theirs      INTEGER NOT NULL REFERENCES text (id),
    note        TEXT NOT NULL,
    operation   INTEGER NOT NULL REFERENCES operation (seq),
    resolved    INTEGER REFERENCES operation (seq),
    resolution  TEXT
) STRICT;

CREATE INDEX conflict_open ON conflict (pk) WHERE resolved IS NULL;

-- Files that were put aside, with their bytes: stale copies, broken files, strangers under a projected name.
CREATE TABLE set_aside (
    pk     INTEGER PRIMARY KEY,
    folder INTEGER NOT NULL REFERENCES folder (pk),
    name   TEXT NOT NULL,
    text   INTEGER NOT NULL REFERENCES text (id),
    reason TEXT NOT NULL,
    at     INTEGER NOT NULL
) STRICT;

-- History is append-only for every tool that opens the file.
CREATE TRIGGER operation_stays BEFORE DELETE ON operation BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER operation_keeps BEFORE UPDATE ON operation BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER text_stays BEFORE DELETE ON text BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER text_keeps BEFORE UPDATE ON text BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER version_stays BEFORE DELETE ON version BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER version_keeps BEFORE UPDATE ON version BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER line_version_stays BEFORE DELETE ON line_version BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER line_version_keeps BEFORE UPDATE ON line_version BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
