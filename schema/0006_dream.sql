-- The daily log; the lease of the dream; what a dream did step by step, and how far it has come.

-- Entries of the daily log in the order in which they arrived. id: the call's own. at: unix microseconds.
-- zone: minutes east of UTC at the person's place then. day: the local one, YYYY-MM-DD, which names the file.
CREATE TABLE log_entry (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT NOT NULL UNIQUE,
    at       INTEGER NOT NULL,
    zone     INTEGER NOT NULL,
    day      TEXT NOT NULL CHECK (day GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    text     TEXT NOT NULL,
    origin   TEXT NOT NULL,
    author   TEXT NOT NULL,
    session  TEXT,
    worktree TEXT,
    branch   TEXT
) STRICT;

CREATE INDEX log_entry_day ON log_entry (day, seq);

CREATE TRIGGER log_entry_stays BEFORE DELETE ON log_entry BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER log_entry_keeps BEFORE UPDATE ON log_entry BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;

-- Which entries stand in the files of a folder. at: no byte of the entry stands before this place in its file; done 0:
-- somebody was about to add it, and whoever comes next looks there whether that happened (-1: nobody has tried yet).
-- All entries up to the last one that has a row here have one.
CREATE TABLE log_shown (
    folder TEXT NOT NULL,
    entry  INTEGER NOT NULL REFERENCES log_entry (seq),
    at     INTEGER NOT NULL,
    done   INTEGER NOT NULL CHECK (done IN (0, 1)),
    PRIMARY KEY (folder, entry)
) STRICT, WITHOUT ROWID;

CREATE INDEX log_shown_open ON log_shown (folder, entry) WHERE done = 0;

-- Who alone may do a kind of work. owner: a token of its own for each time it is taken. pid, started and boot: the
-- process, which a recycled pid is not. beat and until: unix microseconds; called_off: somebody wants it to end.
CREATE TABLE lease (
    kind       TEXT PRIMARY KEY,
    owner      TEXT NOT NULL,
    pid        INTEGER NOT NULL,
    started    TEXT NOT NULL,
    boot       TEXT NOT NULL,
    taken_at   INTEGER NOT NULL,
    beat       INTEGER NOT NULL,
    until      INTEGER NOT NULL,
    called_off INTEGER NOT NULL DEFAULT 0 CHECK (called_off IN (0, 1))
) STRICT, WITHOUT ROWID;

-- The client's lock files that a dream holds: prior is what their time was before (unix microseconds; 0: there was none),
-- to be put back where the dream comes to nothing.
CREATE TABLE dream_lock (
    folder   TEXT PRIMARY KEY,
    pid      INTEGER NOT NULL,
    taken_at INTEGER NOT NULL,
    prior    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- When the sessions of the repository were last counted, how many there were since the last dream, and a digest of the
-- memories as the last dream left them: where that has not changed, and dream_seen has all else, there is no news.
CREATE TABLE dream (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    scanned_at INTEGER,
    sessions   INTEGER,
    input      BLOB
) STRICT;

-- How far a run has come, for whoever follows it.
CREATE TABLE run_progress (
    run   INTEGER PRIMARY KEY REFERENCES run (seq),
    at    INTEGER NOT NULL,
    phase TEXT NOT NULL,
    turns INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    files INTEGER NOT NULL,
    note  TEXT NOT NULL DEFAULT ''
) STRICT;

-- What the last dream that ended well had before it, beside the memories: sessions, logs, files; at: when that was.
CREATE TABLE dream_seen (
    name   TEXT PRIMARY KEY,
    digest BLOB NOT NULL,
    at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What a run wanted to do, step by step. memory: its id; seen: the token of the version that the step was made against,
-- NULL for a new one. content: the text it was to have; NULL: it is deleted. into_path, into_memory: what it is merged
-- into. part: the steps of one part are done together or not at all. needs: JSON, [memory, token] of each other version
-- that it was made from. operation: the one that did it.
-- state: done, stale (somebody else had changed it), refused (by a rule), rejected (by a person),
--        held (waits for a person).
CREATE TABLE run_step (
    run         INTEGER NOT NULL REFERENCES run (seq),
    n           INTEGER NOT NULL,
    part        INTEGER NOT NULL,
    action      TEXT NOT NULL CHECK (action IN ('create', 'revise', 'delete', 'merge')),
    memory      TEXT NOT NULL,
    path        TEXT NOT NULL,
    seen        TEXT,
    content     BLOB,
    into_path   TEXT,
    into_memory TEXT,
    needs       TEXT NOT NULL DEFAULT '[]',
    origin      TEXT NOT NULL,
    reason      TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('done', 'stale', 'refused', 'rejected', 'held')),
    told        TEXT NOT NULL DEFAULT '',
    operation   INTEGER REFERENCES operation (seq),
    PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;

CREATE INDEX run_step_held ON run_step (run) WHERE state = 'held';

-- Lines of a step's old texts that are not in the new ones as they were, and why.
CREATE TABLE run_line (
    run    INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    m      INTEGER NOT NULL,
    fate   TEXT NOT NULL CHECK (fate IN ('reworded', 'dropped')),
    line   TEXT NOT NULL,
    now    TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL,
    PRIMARY KEY (run, n, m),
    FOREIGN KEY (run, n) REFERENCES run_step (run, n)
) STRICT, WITHOUT ROWID;
