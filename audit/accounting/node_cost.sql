-- node_cost: what an attempt cost on one node over one span of its allocation = node price x the integral of its share
-- of the binding resource. In US dollars for the window, by the resource through which it was charged; beside it the
-- part of them that was used (NULL: not measured).
SELECT cluster, job_id_raw, submit, node, usd_per_hour * gpu_share * gpu_hours AS gpu_usd,
    usd_per_hour * mem_share * mem_hours AS mem_usd, usd_per_hour * core_share * core_hours AS core_usd,
    usd_per_hour * gpu_used * gpu_hours AS gpu_used_usd, usd_per_hour * mem_used * mem_hours AS mem_used_usd,
    usd_per_hour * core_used * core_hours AS core_used_usd
FROM bound_share
