-- telemetry_use: what the collector saw of an attempt's cgroups. Memory on a node: L the largest sampled anon +
-- shmem, U the kernel's own peak, F the largest file cache: U - F if that exceeds 1.05 L, else L; page cache is
-- not need. Nodes are added. cores_max: the most in an interval of a minute or more, added over nodes. NULL where a
-- node's kernel does not tell (I/O, peaks). watched_share, cpu_watched_share: of the time from its start to its end
-- (suspended or not) on all of its nodes. is_whole: no node of it was left out.
WITH per_node AS (
    SELECT cluster, job_id_raw, submit, node, sum(watched_s) AS watched_s, sum(cpu_watched_s) AS cpu_watched_s,
        sum(cpu_s) AS cpu_s, min(cpu_source) AS cpu_source, max(cores_max) AS cores_max, max(sampled) AS sampled,
        max(kernel) AS kernel, max(cache) AS cache, sum(oom_kills) AS oom_kills, sum(throttled_s) AS throttled_s,
        sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes
    FROM cgroup_use WHERE job_id_raw IS NOT NULL GROUP BY cluster, job_id_raw, submit, node
), need AS (
    SELECT p.*, coalesce(j.node_count, 1) AS node_count,
        coalesce(epoch(j.end_time) - epoch(j.start_time), j.elapsed_s) AS lasted_s,
        CASE WHEN kernel - cache > 1.05 * sampled THEN kernel - cache ELSE sampled END AS mem_bytes
    FROM per_node AS p JOIN job AS j USING (cluster, job_id_raw, submit)
)
SELECT cluster, job_id_raw, submit, count(*) >= max(node_count) AS is_whole,
    CASE WHEN max(lasted_s) > 0 THEN least(1.0, sum(least(watched_s, lasted_s)) / max(lasted_s * node_count)) END AS watched_share,
    CASE WHEN max(lasted_s) > 0 THEN least(1.0, sum(least(cpu_watched_s, lasted_s)) / max(lasted_s * node_count)) END AS cpu_watched_share,
    sum(cpu_s) AS cpu_s, min(cpu_source) AS cpu_source, sum(cores_max) AS cores_max,
    CASE WHEN count(mem_bytes) = count(*) THEN TRY_CAST(sum(mem_bytes) AS BIGINT) END AS mem_bytes,
    bool_or(kernel > 1.05 * mem_bytes) AS is_cache_inflated,
    CASE WHEN count(kernel) = count(*) THEN TRY_CAST(sum(kernel) AS BIGINT) END AS kernel_peak_bytes,
    TRY_CAST(sum(oom_kills) AS BIGINT) AS oom_kills, sum(throttled_s) AS cpu_throttled_s,
    CASE WHEN count(read_bytes) = count(*) THEN TRY_CAST(sum(read_bytes) AS BIGINT) END AS read_bytes,
    CASE WHEN count(write_bytes) = count(*) THEN TRY_CAST(sum(write_bytes) AS BIGINT) END AS write_bytes
FROM need GROUP BY cluster, job_id_raw, submit
