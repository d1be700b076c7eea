-- step_memory: an attempt's memory and CPU by its steps. A step's peak is the sum of its tasks' peaks, else one
-- task's peak x tasks as an upper bound; steps that overlapped in time are added, steps that did not, not. A
-- peak of 0 was not sampled. unmeasured_s: how long steps ran of which no peak is known, `.extern` left out.
-- was_resized: steps were closed by a resize, which writes none of their use.
WITH peak AS (
    SELECT s.cluster, s.job_id_raw, s.submit, s.step_id, nullif(s.max_rss_bytes, 0) AS max_rss_bytes,
        nullif(s.cpu_s, 0) AS cpu_s, nullif(s.gpu_util, 0) AS gpu_util, nullif(s.gpu_mem_bytes, 0) AS gpu_mem_bytes,
        coalesce(s.elapsed_s, epoch(s.end_time) - epoch(s.start_time), j.elapsed_s) AS elapsed_s,
        epoch(coalesce(s.start_time, j.start_time)) AS from_s,
        epoch(coalesce(s.end_time, j.end_time, s.start_time, j.start_time)) AS to_s,
        CASE WHEN s.rss_bytes > 0 THEN s.rss_bytes ELSE nullif(s.max_rss_bytes, 0)
            * coalesce(s.tasks, CASE WHEN s.step_id IN ('batch', 'interactive') THEN 1 END) END AS bytes,
        coalesce(s.rss_bytes, 0) = 0 AND coalesce(s.tasks, 1) > 1 AS is_bound, s.state
    FROM step AS s JOIN job AS j USING (cluster, job_id_raw, submit)
), edge AS (
    SELECT cluster, job_id_raw, submit, from_s AS at_s, bytes FROM peak WHERE bytes > 0 AND to_s > from_s
    UNION ALL
    SELECT cluster, job_id_raw, submit, to_s, -bytes FROM peak WHERE bytes > 0 AND to_s > from_s
), net AS (
    SELECT cluster, job_id_raw, submit, at_s, sum(bytes) AS bytes FROM edge GROUP BY cluster, job_id_raw, submit, at_s
), level AS (
    SELECT cluster, job_id_raw, submit,
        sum(bytes) OVER (PARTITION BY cluster, job_id_raw, submit ORDER BY at_s ROWS UNBOUNDED PRECEDING) AS bytes
    FROM net
), together AS (
    SELECT cluster, job_id_raw, submit, max(bytes) AS bytes FROM level GROUP BY cluster, job_id_raw, submit
), alone AS (
    SELECT cluster, job_id_raw, submit, max(bytes) AS bytes, max(max_rss_bytes) AS max_task_bytes, sum(cpu_s) AS cpu_s,
        max(gpu_util) AS gpu_util, max(gpu_mem_bytes) AS gpu_mem_bytes, bool_or(is_bound AND bytes > 0) AS is_bound,
        coalesce(sum(CASE WHEN bytes IS NULL AND step_id <> 'extern' THEN elapsed_s END), 0) AS unmeasured_s,
        bool_or(state = 'OUT_OF_MEMORY') AS ran_out_of_memory, bool_or(state = 'RESIZING') AS was_resized
    FROM peak GROUP BY cluster, job_id_raw, submit
)
SELECT a.cluster, a.job_id_raw, a.submit, CAST(greatest(a.bytes, t.bytes) AS BIGINT) AS mem_bytes, a.is_bound,
    a.max_task_bytes, a.cpu_s, a.gpu_util, a.gpu_mem_bytes, a.unmeasured_s, a.ran_out_of_memory, a.was_resized
FROM alone AS a LEFT JOIN together AS t USING (cluster, job_id_raw, submit)
