-- gpu_touched: one GPU of an attempt, touched or not, by telemetry or else by the summary that accounting
-- carries. Never touched: no activity in any sample, memory within 64 MiB of the driver's own, watched for 95 %
-- of the attempt. touched is NULL, with the reason, where there is no utilisation (MIG), where two counters
-- contradict each other, or where it was watched for less.
WITH summary AS (
    SELECT *, least(min(gpu_mem_bytes) OVER (PARTITION BY cluster, node, gpu), 1073741824) AS driver_bytes
    FROM gpu_summary WHERE gpu IS NOT NULL
), seen AS (
    SELECT m.cluster, m.job_id_raw, m.submit, m.node, m.uuid AS gpu, 'telemetry' AS source, a.gpu_util, a.most_active,
        a.mem_bytes, a.driver_bytes, coalesce(a.is_contradicted, false) AS is_contradicted,
        coalesce(a.watched_s, 0) >= 0.95 * coalesce(j.elapsed_s, 0) AS is_watched
    FROM gpu_map AS m
    JOIN job AS j USING (cluster, job_id_raw, submit)
    LEFT JOIN gpu_activity AS a ON a.cluster = m.cluster AND a.job_id_raw = m.job_id_raw AND a.submit = m.submit
        AND a.node = m.node AND a.gpu = m.uuid
    WHERE EXISTS (SELECT 1 FROM sample_gpu)
    UNION ALL
    SELECT cluster, job_id_raw, submit, node, gpu, 'jobstats', gpu_util, gpu_util, gpu_mem_bytes, driver_bytes, false, true
    FROM summary
)
SELECT cluster, job_id_raw, submit, node, gpu, source, gpu_util, mem_bytes,
    CASE WHEN is_contradicted OR gpu_util IS NULL THEN NULL
        WHEN most_active > 0 OR mem_bytes > driver_bytes + 67108864 THEN 1
        WHEN is_watched AND mem_bytes IS NOT NULL THEN 0 END AS touched,
    CASE WHEN is_contradicted THEN 'two GPU counters contradict each other'
        WHEN gpu_util IS NULL THEN 'no GPU utilisation was recorded'
        WHEN most_active > 0 OR mem_bytes > driver_bytes + 67108864 THEN NULL
        WHEN mem_bytes IS NULL THEN 'no GPU memory was recorded'
        WHEN NOT is_watched THEN 'watched for less than 95 % of its time' END AS reason
FROM seen
