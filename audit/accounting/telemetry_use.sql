-- telemetry_use: what the collector saw of an attempt's cgroups. Memory on a node: L the largest sampled anon +
-- shmem, U the kernel's own peak, F the largest file cache: U - F if that exceeds 1.05 L, else L; page cache is
-- not need. Nodes are added. cores_max: the most in an interval of a minute or more, added over nodes. NULL where a
-- node's kernel does not tell (I/O, peaks).
WITH per_node AS (
    SELECT cluster, job_id_raw, submit, node, sum(watched_s) AS watched_s, sum(cpu_watched_s) AS cpu_watched_s,
        sum(cpu_s) AS cpu_s, min(cpu_source) AS cpu_source, max(cores_max) AS cores_max, max(sampled) AS sampled,
        max(kernel) AS kernel, max(cache) AS cache, sum(oom_kills) AS oom_kills, sum(throttled_s) AS throttled_s,
        sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes
    FROM cgroup_use WHERE job_id_raw IS NOT NULL GROUP BY cluster, job_id_raw, submit, node
), need AS (
    SELECT *, CASE WHEN kernel - cache > 1.05 * sampled THEN kernel - cache ELSE sampled END AS mem_bytes FROM per_node
)
SELECT cluster, job_id_raw, submit, count(*) AS nodes, sum(watched_s) AS watched_s, sum(cpu_watched_s) AS cpu_watched_s,
    sum(cpu_s) AS cpu_s, min(cpu_source) AS cpu_source, sum(cores_max) AS cores_max,
    CASE WHEN count(mem_bytes) = count(*) THEN CAST(sum(mem_bytes) AS BIGINT) END AS mem_bytes,
    bool_or(kernel > 1.05 * mem_bytes) AS is_cache_inflated,
    CASE WHEN count(kernel) = count(*) THEN CAST(sum(kernel) AS BIGINT) END AS kernel_peak_bytes,
    CAST(sum(oom_kills) AS BIGINT) AS oom_kills, sum(throttled_s) AS cpu_throttled_s,
    CASE WHEN count(read_bytes) = count(*) THEN CAST(sum(read_bytes) AS BIGINT) END AS read_bytes,
    CASE WHEN count(write_bytes) = count(*) THEN CAST(sum(write_bytes) AS BIGINT) END AS write_bytes
FROM need GROUP BY cluster, job_id_raw, submit
