-- gpu_touched: one GPU of an attempt, touched or not, by telemetry or else by the summary that accounting
-- carries. Never touched: no activity in any sample, memory within 64 MiB of the driver's own, watched for 95 %
-- of the attempt. touched is NULL, with the reason, where there is no utilisation (MIG), where two counters
-- contradict each other, or where it was watched for less.
WITH lasted AS (
    SELECT cluster, job_id_raw, submit, coalesce(epoch(end_time) - epoch(start_time), elapsed_s) AS lasted_s FROM job
), seen AS (
    SELECT m.cluster, m.job_id_raw, m.submit, m.node, m.uuid AS gpu, 'telemetry' AS source, a.gpu_util, a.most_active,
        a.mem_bytes, a.driver_bytes, coalesce(a.is_contradicted, false) AS is_contradicted,
        coalesce(a.watched_s, 0) >= 0.95 * coalesce(j.lasted_s, 0) AS is_watched,
        CASE WHEN j.lasted_s > 0 THEN least(1.0, coalesce(a.watched_s, 0) / j.lasted_s) END AS watched_share, a.throttled_s
    FROM gpu_map AS m
    JOIN lasted AS j USING (cluster, job_id_raw, submit)
    LEFT JOIN gpu_activity AS a ON a.cluster = m.cluster AND a.job_id_raw = m.job_id_raw AND a.submit = m.submit
        AND a.node = m.node AND a.gpu = m.uuid
    WHERE EXISTS (SELECT 1 FROM sample_gpu)
    UNION ALL
    SELECT s.cluster, s.job_id_raw, s.submit, s.node, s.gpu, 'jobstats', s.gpu_util, s.gpu_util, s.gpu_mem_bytes,
        coalesce(d.driver_bytes, 0), false, true, NULL, NULL
    FROM gpu_summary AS s LEFT JOIN gpu_driver AS d USING (cluster, node, gpu)
    WHERE s.gpu IS NOT NULL
)
SELECT cluster, job_id_raw, submit, node, gpu, source, gpu_util, mem_bytes, is_contradicted, watched_share, throttled_s,
    CASE WHEN is_contradicted OR gpu_util IS NULL THEN NULL
        WHEN most_active > 0 OR mem_bytes > driver_bytes + 67108864 THEN 1
        WHEN is_watched AND mem_bytes IS NOT NULL THEN 0 END AS touched,
    CASE WHEN is_contradicted THEN 'two GPU counters contradict each other'
        WHEN gpu_util IS NULL THEN 'no GPU utilisation was recorded'
        WHEN most_active > 0 OR mem_bytes > driver_bytes + 67108864 THEN NULL
        WHEN mem_bytes IS NULL THEN 'no GPU memory was recorded'
        WHEN NOT is_watched THEN 'watched for less than 95 % of its time' END AS reason
FROM seen
