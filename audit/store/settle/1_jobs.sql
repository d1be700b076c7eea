-- Which of several records of one attempt counts: an ended one beats an open one, then the later end, then
-- the one that says more. Records with another identity (DBIndex; where a dump has none, another start) are
-- attempts of their own, even where submitted in the same second: the later ones are set apart by a
-- microsecond each. A record without either is that of the attempt that says most.
CREATE OR REPLACE TEMP TABLE doubled AS
SELECT cluster, job_id_raw, date_trunc('second', submit) AS second
FROM job_record
GROUP BY cluster, job_id_raw, date_trunc('second', submit)
HAVING count(*) > 1;

CREATE OR REPLACE TEMP TABLE contender AS
SELECT
    r.rowid AS row_id, r.cluster, r.job_id_raw, d.second, r.db_index AS identity, r.start_time,
    (
        CAST(r.state NOT IN (SELECT state FROM open_state) AS INTEGER),
        coalesce(r.end_time, r.start_time, TIMESTAMP '1970-01-01'), coalesce(r.elapsed_s, -1),
        CAST(r.start_time IS NOT NULL AS INTEGER) + CAST(r.db_index IS NOT NULL AS INTEGER)
        + CAST(r.alloc_gres IS NOT NULL AS INTEGER) + CAST(r.alloc_mem_bytes IS NOT NULL AS INTEGER)
        + CAST(r.cpu_s IS NOT NULL AS INTEGER) + CAST(r.time_limit_s IS NOT NULL AS INTEGER)
        + CAST(r.user_name IS NOT NULL AS INTEGER) + CAST(r.req_mem_bytes IS NOT NULL AS INTEGER)
        + CAST(r.sluid IS NOT NULL AS INTEGER) + CAST(r.eligible IS NOT NULL AS INTEGER) + CAST(r.job_name IS NOT NULL AS INTEGER),
        hash(r.state, r.job_id, r.exit_code, r.alloc_cores, r.alloc_mem_bytes, r.node_list, r.job_name, r.account, r.partition)
    ) AS weight
FROM job_record AS r
JOIN doubled AS d
    ON d.cluster = r.cluster AND d.job_id_raw = r.job_id_raw AND d.second = date_trunc('second', r.submit);

CREATE OR REPLACE TEMP TABLE verdict AS
WITH known AS (
    SELECT *,
        max(identity) OVER (PARTITION BY cluster, job_id_raw, second, start_time) AS same_start,
        max(start_time) OVER (PARTITION BY cluster, job_id_raw, second, identity) IS NULL AS never_started
    FROM contender
), spelled AS (
    SELECT *, max(CASE WHEN never_started THEN identity END) OVER (PARTITION BY cluster, job_id_raw, second) AS waiting,
        CASE WHEN identity IS NOT NULL THEN identity
            WHEN start_time IS NOT NULL THEN coalesce(same_start, 'at ' || CAST(epoch(start_time) AS VARCHAR)) END AS own
    FROM known
), found AS (
    -- What a dump showed as waiting, with an identity, is what another shows as started, without one.
    SELECT *, CASE WHEN own LIKE 'at %' AND waiting IS NOT NULL THEN waiting ELSE own END AS who_or_none FROM spelled
), named AS (
    SELECT *, coalesce(who_or_none, arg_max(who_or_none, weight) OVER (PARTITION BY cluster, job_id_raw, second)) AS who
    FROM found
), first_seen AS (
    SELECT cluster, job_id_raw, second, who,
        row_number() OVER (PARTITION BY cluster, job_id_raw, second ORDER BY min(start_time) NULLS LAST, who) - 1 AS nth
    FROM named GROUP BY cluster, job_id_raw, second, who
)
SELECT n.row_id, n.second + to_microseconds(f.nth) AS submit,
    row_number() OVER (PARTITION BY n.cluster, n.job_id_raw, n.second, n.who ORDER BY n.weight DESC, n.row_id) > 1 AS superseded
FROM named AS n
JOIN first_seen AS f
    ON f.cluster = n.cluster AND f.job_id_raw = n.job_id_raw AND f.second = n.second
    AND f.who IS NOT DISTINCT FROM n.who;

-- Steps of attempts that are set apart are attached anew, by identity and time.
UPDATE step_record AS s SET submit = NULL
FROM (
    SELECT DISTINCT r.cluster, r.job_id_raw, r.submit
    FROM verdict AS v JOIN job_record AS r ON r.rowid = v.row_id
    WHERE v.submit <> r.submit
) AS moved
WHERE s.cluster = moved.cluster AND s.job_id_raw = moved.job_id_raw
    AND date_trunc('second', s.submit) = date_trunc('second', moved.submit);

UPDATE job_record AS r SET submit = v.submit, superseded = v.superseded
FROM verdict AS v
WHERE r.rowid = v.row_id AND (r.submit <> v.submit OR r.superseded <> v.superseded);
