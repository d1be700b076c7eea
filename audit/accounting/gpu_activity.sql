-- gpu_activity: what telemetry saw of each GPU an attempt held, found by UUID. Of a card that it shared the memory is its
-- own processes'. driver_bytes: what the driver itself takes, the least seen on that card while nobody held it; 0 if
-- never seen.
WITH own AS (
    SELECT cluster, node, uuid, job, max(mem_bytes_max) AS own_bytes FROM sample_gpu_job GROUP BY cluster, node, uuid, job
), own_use AS (
    SELECT o.cluster, o.node, o.uuid, a.job_id_raw, a.submit, max(o.own_bytes) AS own_bytes
    FROM own AS o JOIN attempt_name AS a ON a.cluster = o.cluster AND a.name = o.job
    GROUP BY o.cluster, o.node, o.uuid, a.job_id_raw, a.submit
)
SELECT m.cluster, m.job_id_raw, m.submit, m.node, m.uuid AS gpu, h.watched_s, h.util_s / nullif(h.util_watched_s, 0) AS gpu_util,
    h.most_active, CASE WHEN m.is_shared THEN o.own_bytes ELSE h.mem_bytes END AS mem_bytes,
    CASE WHEN m.is_shared THEN 0 ELSE coalesce(d.least_bytes, 0) END AS driver_bytes, h.throttled_s, m.is_shared,
    h.is_contradicted
FROM gpu_map AS m
JOIN gpu_held AS h USING (span_no)
LEFT JOIN gpu_held AS d ON d.uuid = m.uuid AND d.node = m.node AND d.cluster = m.cluster AND d.span_no IS NULL
LEFT JOIN own_use AS o ON o.uuid = m.uuid AND o.node = m.node AND o.cluster = m.cluster
    AND o.job_id_raw = m.job_id_raw AND o.submit = m.submit
