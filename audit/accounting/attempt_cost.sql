-- attempt_cost: the cost of an attempt over all its nodes in US dollars for the window, by the resource through which
-- it was charged, with the parts of it that were used (NULL: not measured) and that are recoverable.
SELECT cluster, job_id_raw, submit, sum(gpu_usd) AS gpu_usd, sum(mem_usd) AS mem_usd, sum(core_usd) AS core_usd,
    sum(gpu_used_usd) AS gpu_used_usd, sum(mem_used_usd) AS mem_used_usd, sum(core_used_usd) AS core_used_usd,
    sum(gpu_recoverable_usd) AS gpu_recoverable_usd, sum(mem_recoverable_usd) AS mem_recoverable_usd,
    sum(core_recoverable_usd) AS core_recoverable_usd
FROM charge GROUP BY cluster, job_id_raw, submit
