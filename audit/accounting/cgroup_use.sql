-- cgroup_use: what the collector saw of one cgroup on one node over its whole life, and whose it was. A job's name and
-- the time its cgroup was made (set right as the interval is in which it was first seen) tell one from the next, since
-- ids come again after a requeue: it is the attempt's of that name that ran when it was made (30 s allowed for clocks),
-- the one that started nearest; else that ran when it was seen last; else nobody's that the accounting knows, with
-- job_id_raw NULL. watched_s: an interval of more than a minute for each sample was not watched all through.
WITH instance AS (
    SELECT any_value(cluster) AS cluster, node, job, since_time, min(from_time) AS first_time, max(from_time) AS last_time,
        arg_min(shift_s, from_time) AS shift_s, count(*) AS intervals,
        sum(least(interval_s, 60.0 * samples)) AS watched_s, sum(interval_s) AS cpu_watched_s, sum(cpu_s) AS cpu_s,
        any_value(cpu_source) AS cpu_source, max(CASE WHEN interval_s >= 59.5 THEN cpu_s / interval_s END) AS cores_max,
        max(anon_shmem_bytes_max) AS sampled, max(kernel_peak_bytes) AS kernel, max(file_bytes_max) AS cache,
        max(oom_kills) AS oom_kills, sum(throttled_s) AS throttled_s, sum(read_bytes) AS read_bytes,
        sum(write_bytes) AS write_bytes
    FROM sample_job GROUP BY node, job, since_time
), made AS (
    SELECT *, row_number() OVER () AS nth, coalesce(since_time + to_microseconds(CAST(shift_s * 1e6 AS BIGINT)), first_time) AS made_time FROM instance
), candidate AS (
    SELECT m.nth, j.job_id_raw, j.submit, m.made_time >= j.start_time - INTERVAL 30 SECOND
            AND (j.end_time IS NULL OR m.made_time <= j.end_time + INTERVAL 30 SECOND) AS was_made,
        m.last_time >= j.start_time - INTERVAL 30 SECOND AND (j.end_time IS NULL OR m.last_time <= j.end_time) AS was_seen,
        abs(epoch(m.made_time) - epoch(j.start_time)) AS apart_s
    FROM made AS m
    JOIN attempt_name AS a ON a.cluster = m.cluster AND a.name = m.job
    JOIN job AS j ON j.cluster = a.cluster AND j.job_id_raw = a.job_id_raw AND j.submit = a.submit
), owner AS (
    SELECT nth, arg_min(job_id_raw, (NOT was_made, apart_s)) AS job_id_raw, arg_min(submit, (NOT was_made, apart_s)) AS submit
    FROM candidate WHERE was_made OR was_seen GROUP BY nth
)
SELECT m.* EXCLUDE (nth, made_time, shift_s), o.job_id_raw, o.submit FROM made AS m LEFT JOIN owner AS o USING (nth)
