-- gpu_use: how many physical GPUs an attempt touched, NULL with the reason where that is not known of all of
-- them, by telemetry, else jobstats, else, for one GPU that showed activity, accounting; their mean activity
-- in percent (low activity on a touched GPU is under-use, it frees nothing); the largest memory peak of one.
WITH per_source AS (
    SELECT cluster, job_id_raw, submit, source, count(*) AS gpus, count(touched) AS known, sum(touched) AS gpus_used,
        avg(gpu_util) AS gpu_util, max(mem_bytes) AS vram_peak_bytes, max(reason) AS reason
    FROM gpu_touched GROUP BY cluster, job_id_raw, submit, source
), accounted AS (
    SELECT h.cluster, h.job_id_raw, h.submit, h.held_gpus, s.gpu_util, s.gpu_mem_bytes,
        CASE WHEN h.held_gpus <= 1 AND s.gpu_util > 0 THEN h.held_gpus END AS gpus_used
    FROM span_held AS h
    LEFT JOIN step_memory AS s USING (cluster, job_id_raw, submit)
    WHERE h.held_gpus > 0
), seen AS (
    SELECT a.*, t.source AS t_source, t.gpus_used AS t_used, t.gpu_util AS t_util, t.vram_peak_bytes AS t_vram,
        t.reason AS t_reason, t.known = t.gpus AND t.gpus >= a.held_gpus AS t_is_known,
        j.source AS j_source, j.gpus_used AS j_used, j.gpu_util AS j_util, j.vram_peak_bytes AS j_vram,
        j.reason AS j_reason, j.known = j.gpus AND j.gpus >= a.held_gpus AS j_is_known
    FROM accounted AS a
    LEFT JOIN per_source AS t ON (t.cluster, t.job_id_raw, t.submit) = (a.cluster, a.job_id_raw, a.submit) AND t.source = 'telemetry'
    LEFT JOIN per_source AS j ON (j.cluster, j.job_id_raw, j.submit) = (a.cluster, a.job_id_raw, a.submit) AND j.source = 'jobstats'
)
SELECT cluster, job_id_raw, submit,
    CASE WHEN t_is_known THEN 'telemetry' WHEN t_reason LIKE '%contradict%' THEN NULL WHEN j_is_known THEN 'jobstats'
        WHEN gpus_used IS NOT NULL THEN 'accounting' END AS gpu_source,
    CASE WHEN t_is_known THEN least(t_used, held_gpus) WHEN t_reason LIKE '%contradict%' THEN NULL
        WHEN j_is_known THEN least(j_used, held_gpus) ELSE gpus_used END AS gpus_used,
    CASE WHEN t_is_known THEN t_util WHEN t_reason LIKE '%contradict%' THEN NULL WHEN j_is_known THEN j_util
        ELSE gpu_util END AS gpu_util,
    coalesce(t_vram, j_vram, gpu_mem_bytes) AS vram_peak_bytes,
    CASE WHEN t_is_known THEN NULL WHEN t_reason IS NOT NULL THEN t_reason WHEN j_is_known THEN NULL
        ELSE coalesce(j_reason, CASE WHEN gpus_used IS NULL THEN 'nothing watched its GPUs' END) END AS gpu_reason
FROM seen
