-- advised_shape: what an attempt would hold on each node had it asked for what a plan (a quantile, of all resources or of
-- those only that telemetry watched) advised before it started: spread and rounded as in recommended_shape, never more
-- than held. A row where that is less of something (lowers). A resource of which the need is not known keeps what was
-- held. short: less than the need. Too few cores slow an attempt, they do not kill it: cores are lowered to the need at most.
WITH asked AS (
    SELECT p.plan, h.held_no, h.cluster, h.job_id_raw, h.submit, h.cores, h.mem_bytes, h.gpus,
        h.need_cores, h.need_mem_bytes, h.need_gpus,
        CASE WHEN r.cores * h.need_cores IS NOT NULL AND (h.cores_watched OR NOT p.watched_only)
            THEN least(h.cores, in_steps(r.cores * h.core_part, 1) * h.run_share) END AS ask_cores,
        CASE WHEN r.mem_bytes * h.need_mem_bytes IS NOT NULL AND (h.mem_watched OR NOT p.watched_only)
            THEN least(h.mem_bytes, in_steps(r.mem_bytes * h.mem_part, s.mem_step_bytes)) END AS ask_mem_bytes,
        CASE WHEN r.gpus * h.need_gpus IS NOT NULL AND (h.gpus_watched OR NOT p.watched_only)
            THEN least(h.gpus, in_steps(r.gpus * h.gpu_part, 1)) END AS ask_gpus
    FROM plan AS p
    JOIN recommendation AS r ON r.quantile = p.quantile
    JOIN recommended_shape AS h USING (cluster, job_id_raw, submit)
    CROSS JOIN policy AS s
)
SELECT plan, held_no, cluster, job_id_raw, submit,
    CASE WHEN ask_cores IS NULL THEN cores ELSE greatest(ask_cores, need_cores) END AS kept_cores,
    coalesce(ask_mem_bytes, mem_bytes) AS kept_mem_bytes, coalesce(ask_gpus, gpus) AS kept_gpus,
    coalesce(ask_cores < need_cores, false) AS short_of_cores, coalesce(ask_mem_bytes < need_mem_bytes, false) AS short_of_mem,
    coalesce(ask_gpus < need_gpus, false) AS short_of_gpus, coalesce(ask_cores < cores, false) AS lowers_cores,
    coalesce(ask_mem_bytes < mem_bytes, false) AS lowers_mem, coalesce(ask_gpus < gpus, false) AS lowers_gpus
FROM asked WHERE ask_cores < cores OR ask_mem_bytes < mem_bytes OR ask_gpus < gpus
