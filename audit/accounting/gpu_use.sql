-- gpu_use: how many physical GPUs an attempt touched, NULL with the reason where that is not known of all of
-- them, by telemetry, else jobstats, else, for one GPU that showed activity, accounting; the mean activity of these
-- in percent (low activity on a touched GPU is under-use, it frees nothing); the largest memory peak of one.
-- Counters that contradict each other are a fault in the data: no other source is believed then. Of instances (MIG) only
-- the memory is told, of those that the node says it alone held.
WITH instance AS (
    SELECT j.cluster, j.job_id_raw, j.submit, max(s.mem_bytes_max) AS mem_bytes
    FROM sample_mig AS s
    JOIN attempt_name AS a ON a.cluster = s.cluster AND a.name = s.holder
    JOIN job AS j ON j.cluster = a.cluster AND j.job_id_raw = a.job_id_raw AND j.submit = a.submit
    WHERE epoch(s.from_time) + s.interval_s / 2 >= epoch(j.start_time)
        AND (j.end_time IS NULL OR epoch(s.from_time) + s.interval_s / 2 < epoch(j.end_time))
    GROUP BY j.cluster, j.job_id_raw, j.submit
), known AS (
    SELECT cluster, job_id_raw, submit, source, CASE source WHEN 'telemetry' THEN 1 ELSE 2 END AS rank, count(*) AS gpus,
        sum(touched) AS gpus_used,
        coalesce(avg(CASE WHEN touched = 1 THEN gpu_util END), avg(gpu_util)) AS gpu_util, max(mem_bytes) AS vram_peak_bytes, max(reason) AS reason,
        count(touched) = count(*) AS is_whole, bool_or(is_contradicted) AS is_fault,
        min(watched_share) AS watched_share, sum(throttled_s) AS throttled_s
    FROM gpu_touched GROUP BY cluster, job_id_raw, submit, source
    UNION ALL
    SELECT cluster, job_id_raw, submit, 'accounting', 3, h.held_gpus, h.held_gpus, s.gpu_util, s.gpu_mem_bytes, NULL,
        h.held_gpus <= 1, false, NULL, NULL
    FROM span_held AS h JOIN step_memory AS s USING (cluster, job_id_raw, submit)
    WHERE h.held_gpus > 0 AND s.gpu_util > 0
), ranked AS (
    SELECT h.cluster, h.job_id_raw, h.submit, h.held_gpus, h.has_mig, k.source, k.gpus_used, k.gpu_util, k.vram_peak_bytes, k.reason, k.watched_share, k.throttled_s,
        CASE WHEN k.is_whole AND NOT h.has_mig AND k.gpus >= h.held_gpus AND NOT bool_or(k.is_fault) OVER each_attempt THEN k.rank END AS rank,
        k.rank AS told_rank
    FROM span_held AS h LEFT JOIN known AS k USING (cluster, job_id_raw, submit)
    WHERE h.held_gpus > 0
    WINDOW each_attempt AS (PARTITION BY h.cluster, h.job_id_raw, h.submit)
), best AS (
    SELECT * EXCLUDE (watched_share, throttled_s), row_number() OVER (
        PARTITION BY cluster, job_id_raw, submit ORDER BY rank NULLS LAST, (reason IS NULL), told_rank NULLS LAST
    ) AS nth, max(vram_peak_bytes) OVER each_attempt AS most_vram_bytes,
        max(watched_share) OVER each_attempt AS watched_share, max(throttled_s) OVER each_attempt AS throttled_s
    FROM ranked WINDOW each_attempt AS (PARTITION BY cluster, job_id_raw, submit)
)
SELECT cluster, job_id_raw, submit, CASE WHEN rank IS NOT NULL THEN source END AS gpu_source,
    CASE WHEN rank IS NOT NULL THEN least(gpus_used, held_gpus) END AS gpus_used,
    CASE WHEN rank IS NOT NULL THEN gpu_util END AS gpu_util,
    greatest(most_vram_bytes, i.mem_bytes) AS vram_peak_bytes, throttled_s AS gpu_throttled_s, watched_share AS gpu_watched_share,
    CASE WHEN rank IS NULL THEN coalesce(reason, CASE WHEN has_mig THEN 'MIG instances are not told apart' END, 'nothing watched all of its GPUs') END AS gpu_reason
FROM best LEFT JOIN instance AS i USING (cluster, job_id_raw, submit)
WHERE nth = 1
