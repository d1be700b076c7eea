-- telemetry_use: what the collector saw of an attempt's cgroup. Memory on a node: L the largest sampled anon +
-- shmem, U the kernel's own peak, F the largest file cache: U - F if that exceeds 1.05 L, else L; page cache is
-- not need. Nodes are added. cores_max: the most in an interval of a minute or more, added over nodes.
WITH seen AS (
    SELECT j.cluster, j.job_id_raw, j.submit, s.node, s.interval_s, s.cpu_s, s.anon_shmem_bytes_max,
        s.file_bytes_max, s.kernel_peak_bytes
    FROM sample_job AS s
    JOIN job AS j ON j.cluster = s.cluster AND j.job_id_raw = s.job_id_raw
        AND epoch(s.from_time) + s.interval_s > epoch(j.start_time)
        AND (j.end_time IS NULL OR s.from_time < j.end_time)
), per_node AS (
    SELECT cluster, job_id_raw, submit, node, sum(interval_s) AS watched_s, sum(cpu_s) AS cpu_s,
        max(CASE WHEN interval_s >= 60 THEN cpu_s / interval_s END) AS cores_max,
        max(anon_shmem_bytes_max) AS sampled, max(kernel_peak_bytes) AS kernel, max(file_bytes_max) AS cache
    FROM seen GROUP BY cluster, job_id_raw, submit, node
), need AS (
    SELECT *, CASE WHEN kernel - cache > 1.05 * sampled THEN kernel - cache ELSE sampled END AS mem_bytes FROM per_node
)
SELECT cluster, job_id_raw, submit, sum(watched_s) AS watched_s, sum(cpu_s) AS cpu_s, sum(cores_max) AS cores_max,
    CASE WHEN count(mem_bytes) = count(*) THEN CAST(sum(mem_bytes) AS BIGINT) END AS mem_bytes,
    bool_or(kernel > 1.05 * mem_bytes) AS is_cache_inflated
FROM need GROUP BY cluster, job_id_raw, submit
