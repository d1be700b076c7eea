-- The records of one attempt that was resized, or whose memory was changed while it ran. A RESIZING record goes
-- on in the next one of its job: by OriginalSLUID where the dump has it, else where the next starts when it
-- ends, or (22.05 keeps the first start) is submitted when it ends. What a record says of time before that is
-- the one before's.
DELETE FROM resized;

INSERT INTO resized BY NAME
WITH job_of AS (
    SELECT DISTINCT cluster, job_id_raw FROM job_record WHERE state = 'RESIZING' AND NOT superseded
), record AS (
    SELECT r.*, coalesce(r.original_sluid, r.sluid) AS origin, lag(r.state) OVER job AS state_before,
        lag(r.end_time) OVER job AS end_before, lag(coalesce(r.original_sluid, r.sluid)) OVER job AS origin_before
    FROM job_record AS r JOIN job_of USING (cluster, job_id_raw)
    WHERE NOT r.superseded
    WINDOW job AS (PARTITION BY r.cluster, r.job_id_raw ORDER BY r.submit, r.start_time)
), joined AS (
    SELECT *, state_before = 'RESIZING' AND (
        origin = origin_before
        OR abs(date_diff('second', end_before, start_time)) <= 2
        OR abs(date_diff('second', end_before, submit)) <= 2
    ) AS goes_on
    FROM record
), timed AS (
    SELECT *, CASE WHEN goes_on THEN greatest(start_time, end_before) ELSE start_time END AS span_from,
        sum(CASE WHEN goes_on THEN 0 ELSE 1 END) OVER (PARTITION BY cluster, job_id_raw ORDER BY submit, start_time) AS nth
    FROM joined
), whole AS (
    -- A chain that ends in RESIZING was dumped before the rest: the attempt still ran.
    SELECT cluster, job_id_raw, nth, min(submit) AS submit, arg_max(state, submit) AS last_state,
        arg_max(exit_code, submit) AS exit_code, arg_max(derived_exit_code, submit) AS derived_exit_code,
        max(end_time) AS last_end, bool_or(end_time IS NULL) AS open,
        sum(elapsed_s - coalesce(date_diff('second', start_time, span_from), 0)) AS elapsed_s,
        sum(suspended_s) AS suspended_s, sum(cpu_s) AS cpu_s
    FROM timed GROUP BY cluster, job_id_raw, nth
), kept AS (
    -- Slurm 26.05 rewrites the first record's memory; its batch and extern steps keep what was held.
    SELECT cluster, job_id_raw, submit, max(alloc_mem_bytes) AS step_mem_bytes
    FROM step_record WHERE step_id IN ('batch', 'extern') AND NOT superseded
    GROUP BY cluster, job_id_raw, submit
)
SELECT t.cluster, t.job_id_raw, t.submit AS record_submit, w.submit, t.span_from,
    CASE WHEN t.state = 'RESIZING' THEN greatest(t.alloc_mem_bytes, k.step_mem_bytes) END AS span_mem_bytes,
    CASE WHEN w.last_state = 'RESIZING' THEN 'RUNNING' ELSE w.last_state END AS state,
    w.exit_code, w.derived_exit_code,
    CASE WHEN NOT w.open AND w.last_state <> 'RESIZING' THEN w.last_end END AS end_time,
    w.elapsed_s, w.suspended_s, w.cpu_s
FROM timed AS t
JOIN whole AS w ON w.cluster = t.cluster AND w.job_id_raw = t.job_id_raw AND w.nth = t.nth
LEFT JOIN kept AS k ON k.cluster = t.cluster AND k.job_id_raw = t.job_id_raw AND k.submit = t.submit;
