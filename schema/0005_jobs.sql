-- What is set for this repository, what the jobs of its sessions came to, and how far each transcript was read.

-- value: as a person writes it; memstore/core/settings.py says what there is to set.
CREATE TABLE setting (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- due_at: a waiting job is not taken before then. tries: how often it failed.
-- turns: how many turns of its session ended since the last one was taken.
ALTER TABLE job ADD COLUMN due_at INTEGER;
ALTER TABLE job ADD COLUMN turns INTEGER NOT NULL DEFAULT 1;

-- Pauses that are over: what was said in them is never looked at. since and until: unix microseconds.
CREATE TABLE rested (
    scope TEXT NOT NULL,
    key   TEXT NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER NOT NULL
) STRICT;

-- No two runs of a session at once, whatever the processes believe.
CREATE UNIQUE INDEX job_running ON job (kind, session) WHERE state = 'running';

-- One attempt at a job. kind: extract or notes. via: who thought (api or client).
-- outcome: saved, nothing (worth saving), skipped (by a gate), more (the rest comes in the next run), failed.
-- gate: the one that was shut, where it was skipped.
-- messages: how many were read; unread: how many could not be read any more.
-- cost_microusd: NULL where the model's price is not known. told: a session that started has said what was saved.
CREATE TABLE run (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT NOT NULL UNIQUE,
    kind          TEXT NOT NULL,
    session       TEXT NOT NULL,
    job           INTEGER REFERENCES job (seq),
    model         TEXT,
    via           TEXT,
    state         TEXT NOT NULL CHECK (state IN ('running', 'done', 'failed')),
    outcome       TEXT CHECK (outcome IN ('saved', 'nothing', 'skipped', 'more', 'failed')),
    gate          TEXT,
    reason        TEXT NOT NULL DEFAULT '',
    started_at    INTEGER NOT NULL,
    ended_at      INTEGER,
    turns         INTEGER NOT NULL DEFAULT 0,
    messages      INTEGER NOT NULL DEFAULT 0,
    unread        INTEGER NOT NULL DEFAULT 0,
    operation     INTEGER REFERENCES operation (seq),
    input_tokens  INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cache_read    INTEGER NOT NULL DEFAULT 0,
    cache_written INTEGER NOT NULL DEFAULT 0,
    cost_microusd INTEGER,
    told          INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1))
) STRICT;

CREATE UNIQUE INDEX run_running ON run (kind, session) WHERE state = 'running';
CREATE INDEX run_session ON run (session, seq);
CREATE INDEX run_started ON run (started_at);
CREATE INDEX run_untold ON run (seq) WHERE told = 0 AND operation IS NOT NULL;

-- What happened in a run. denied: a tool that it may not use; refused: a write that could not be taken;
-- tool: a tool that it used; note: all else.
CREATE TABLE run_event (
    run  INTEGER NOT NULL REFERENCES run (seq),
    n    INTEGER NOT NULL,
    at   INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('denied', 'refused', 'note', 'tool')),
    text TEXT NOT NULL,
    PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;

-- How far a session's transcript was read: message is the last one whose outcome is recorded, offset the bytes up to
-- the end of its line, digest the SHA-256 of those bytes.
CREATE TABLE cursor (
    kind       TEXT NOT NULL,
    session    TEXT NOT NULL,
    transcript TEXT NOT NULL,
    message    TEXT NOT NULL,
    offset     INTEGER NOT NULL,
    digest     BLOB NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (kind, session)
) STRICT, WITHOUT ROWID;

-- Messages whose outcome is recorded, over all sessions: a fork copies the history of another one.
CREATE TABLE taken (
    message BLOB PRIMARY KEY CHECK (length(message) = 8),
    run     INTEGER NOT NULL REFERENCES run (seq)
) STRICT, WITHOUT ROWID;

-- The messages that a version was made from.
CREATE TABLE source (
    operation INTEGER NOT NULL REFERENCES operation (seq),
    memory    INTEGER NOT NULL REFERENCES memory (pk),
    session   TEXT NOT NULL,
    message   TEXT NOT NULL,
    PRIMARY KEY (operation, memory, session, message)
) STRICT, WITHOUT ROWID;

CREATE INDEX source_memory ON source (memory);

CREATE TRIGGER source_stays BEFORE DELETE ON source BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER source_keeps BEFORE UPDATE ON source BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
