-- Steps that did not stand under their attempt find it by identity, else by the time they ran in.
CREATE OR REPLACE TEMP TABLE found AS
SELECT s.rowid AS row_id, arg_max(r.submit, (s.db_index IS NOT DISTINCT FROM r.db_index, r.start_time, r.submit)) AS submit
FROM step_record AS s
JOIN job_record AS r ON r.cluster = s.cluster AND r.job_id_raw = s.job_id_raw AND NOT r.superseded
WHERE s.submit IS NULL AND (
    s.db_index = r.db_index
    OR (
        (s.db_index IS NULL OR r.db_index IS NULL)
        AND s.start_time >= r.start_time - INTERVAL 10 SECOND
        AND (r.end_time IS NULL OR s.start_time <= r.end_time + INTERVAL 10 SECOND)
    )
    OR (s.start_time IS NULL AND r.end_time IS NULL)
)
GROUP BY s.rowid;

UPDATE step_record AS s SET submit = f.submit FROM found AS f WHERE s.rowid = f.row_id;

CREATE OR REPLACE TEMP TABLE doubled_step AS
SELECT hash(job_id_raw, submit, step_id) AS mark
FROM step_record WHERE submit IS NOT NULL
GROUP BY hash(job_id_raw, submit, step_id)
HAVING count(*) > 1;

CREATE OR REPLACE TEMP TABLE step_verdict AS
SELECT rowid AS row_id, row_number() OVER (
    PARTITION BY cluster, job_id_raw, submit, step_id
    ORDER BY CAST(state = 'RESIZING' OR state IN (SELECT state FROM open_state) AS INTEGER), end_time DESC NULLS LAST,
        elapsed_s DESC NULLS LAST, rss_bytes DESC NULLS LAST, max_rss_bytes DESC NULLS LAST, cpu_s DESC NULLS LAST,
        CAST(db_index IS NULL AS INTEGER), hash(state, exit_code, alloc_cores, alloc_mem_bytes), rowid
) > 1 AS superseded
FROM step_record
WHERE submit IS NOT NULL AND hash(job_id_raw, submit, step_id) IN (SELECT mark FROM doubled_step);

UPDATE step_record AS s SET superseded = v.superseded
FROM step_verdict AS v WHERE s.rowid = v.row_id AND s.superseded <> v.superseded;
