-- What recall told the sessions.

-- cleared_at: when a session's conversation was last taken away (a compaction): what it saw before that it sees no more.
ALTER TABLE session ADD COLUMN cleared_at INTEGER;

-- The versions of memories that a session was told since then. bytes: what each took of the session's budget.
CREATE TABLE recalled (
    session TEXT NOT NULL,
    memory  INTEGER NOT NULL REFERENCES memory (pk),
    token   TEXT NOT NULL,
    bytes   INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (session, memory, token)
) STRICT, WITHOUT ROWID;

-- What a session's last prompt was, for a model that is to pick memories for it; a newer one takes its place.
CREATE TABLE recall_asked (
    session    TEXT PRIMARY KEY,
    prompt     TEXT NOT NULL,
    transcript TEXT,
    at         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What it picked, to be told at the session's next prompt.
CREATE TABLE recall_picked (
    session TEXT NOT NULL,
    memory  INTEGER NOT NULL REFERENCES memory (pk),
    at      INTEGER NOT NULL,
    PRIMARY KEY (session, memory)
) STRICT, WITHOUT ROWID;
