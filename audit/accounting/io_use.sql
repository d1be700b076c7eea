-- io_use: bytes an attempt read from and wrote to block devices (by its cgroups) where telemetry watched 95 % of it, else
-- what accounting's steps say (all files). NULL where neither tells: most kernels' cgroups v1 miss buffered writes, and
-- file systems over the network are no block devices.
WITH told AS (
    SELECT cluster, job_id_raw, submit, CAST(sum(read_bytes) AS BIGINT) AS read_bytes,
        CAST(sum(write_bytes) AS BIGINT) AS write_bytes
    FROM step GROUP BY cluster, job_id_raw, submit
), known AS (
    SELECT j.cluster, j.job_id_raw, j.submit, coalesce(t.cpu_watched_share >= 0.95 AND t.is_whole
            AND coalesce(t.read_bytes, t.write_bytes) IS NOT NULL, false) AS is_watched,
        t.read_bytes AS seen_read, t.write_bytes AS seen_write, s.read_bytes AS told_read, s.write_bytes AS told_write
    FROM job AS j
    LEFT JOIN telemetry_use AS t USING (cluster, job_id_raw, submit)
    LEFT JOIN told AS s USING (cluster, job_id_raw, submit)
    WHERE j.start_time IS NOT NULL
)
SELECT cluster, job_id_raw, submit, CASE WHEN is_watched THEN seen_read ELSE told_read END AS io_read_bytes,
    CASE WHEN is_watched THEN seen_write ELSE told_write END AS io_write_bytes,
    CASE WHEN is_watched THEN 'cgroup' WHEN coalesce(told_read, told_write) IS NOT NULL THEN 'accounting' END AS io_source
FROM known
