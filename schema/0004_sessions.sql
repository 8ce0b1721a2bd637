-- Sessions of agents: what each was told, where saving rests, and what is left to do after them.
-- A hook is short-lived: it knows these tables, the inbox, and little else.

-- id: the session's own; of an agent inside it, with "/" and that agent's id.
-- source: how it started last. heard: up to this operation it was told what others changed.
-- turn_ended: when its last turn stopped; NULL where none did yet.
CREATE TABLE session (
    id         TEXT PRIMARY KEY,
    source     TEXT NOT NULL,
    worktree   TEXT,
    branch     TEXT,
    transcript TEXT,
    heard      INTEGER NOT NULL,
    turn_ended INTEGER,
    started_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Where automatic saving rests: in one session, in one worktree (key: its top directory), or everywhere (key: empty).
CREATE TABLE pause (
    scope TEXT NOT NULL CHECK (scope IN ('session', 'worktree', 'store')),
    key   TEXT NOT NULL,
    at    INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

-- What is to be done later by somebody who has the time. event: what asked for it. note: why it failed.
CREATE TABLE job (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    kind       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'done', 'failed')),
    session    TEXT NOT NULL,
    transcript TEXT NOT NULL,
    cwd        TEXT NOT NULL,
    event      TEXT NOT NULL,
    at         INTEGER NOT NULL,
    tries      INTEGER NOT NULL DEFAULT 0,
    note       TEXT
) STRICT;

-- A newer one takes the place of the one that waits.
CREATE UNIQUE INDEX job_waiting ON job (kind, session) WHERE state = 'waiting';
CREATE INDEX job_failed ON job (seq) WHERE state = 'failed';

CREATE INDEX inbox_session ON inbox (session, at);
