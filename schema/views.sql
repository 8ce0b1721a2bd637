-- Views for people. A store has none of them: `memstore db` puts them into each copy that it makes.
-- What each column says stands in README.md beside this file.

CREATE VIEW memories AS
SELECT
    m.pk,
    m.path,
    m.name,
    m.description,
    m.type,
    m.scope,
    m.layer,
    m.state,
    m.pinned,
    m.origin,
    m.version,
    m.token,
    by_it.path AS superseded_by,
    strftime('%Y-%m-%dT%H:%M:%SZ', m.created_at / 1000000, 'unixepoch') AS created,
    strftime('%Y-%m-%dT%H:%M:%SZ', m.changed_at / 1000000, 'unixepoch') AS changed,
    t.content AS text
FROM memory m
JOIN text t ON t.id = m.text
LEFT JOIN memory by_it ON by_it.pk = m.superseded_by;

CREATE VIEW history AS
SELECT
    v.memory,
    v.path,
    v.number AS version,
    v.token,
    v.change,
    v.state,
    v.name,
    v.description,
    v.type,
    v.origin,
    o.seq AS operation,
    o.kind,
    strftime('%Y-%m-%dT%H:%M:%SZ', o.at / 1000000, 'unixepoch') AS at,
    o.author,
    o.session,
    o.worktree,
    o.branch,
    o.reason,
    t.content AS text
FROM version v
JOIN operation o ON o.seq = v.operation
JOIN text t ON t.id = v.text;

CREATE VIEW lines AS
SELECT
    l.scope,
    l.layer,
    row_number() OVER (PARTITION BY l.scope, l.layer ORDER BY l.rank, l.id) AS position,
    l.kind,
    l.text,
    m.path,
    l.hook_by,
    l.operation
FROM line l
LEFT JOIN memory m ON m.pk = l.memory
WHERE l.live = 1;

CREATE VIEW operations AS
SELECT
    o.seq AS number,
    o.id,
    o.kind,
    strftime('%Y-%m-%dT%H:%M:%SZ', o.at / 1000000, 'unixepoch') AS at,
    o.origin,
    o.author,
    o.session,
    o.worktree,
    o.branch,
    o.commit_id AS "commit",
    o.reason,
    o.undoes,
    (SELECT count(*) FROM version v WHERE v.operation = o.seq) AS versions
FROM operation o;
