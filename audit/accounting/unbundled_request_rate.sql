-- unbundled_request_rate: what one hour of a request would cost where node sizes are unknown: cores, memory and GPUs x their
-- rates (GPUs at the mean rate of those held); an array counts each of its tasks.
SELECT j.cluster, j.job_id_raw, j.submit, split_part(j.partition, ',', 1) AS partition,
    coalesce(j.array_tasks, 1) * (coalesce(j.req_cores, 0) * r.usd_per_core_hour
        + coalesce(j.req_mem_bytes, 0) / 1073741824 * r.usd_per_mem_gib_hour
        + coalesce(j.req_gpus * (SELECT avg(usd_per_gpu_hour) FROM gres_rate), 0)) AS usd_per_hour
FROM job AS j CROSS JOIN unbundled_rate AS r
