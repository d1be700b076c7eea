-- attempt_cost: the cost of an attempt over all its nodes in US dollars for the window, by the resource through which
-- it was charged, with the parts of it that were used (NULL: not measured).
SELECT cluster, job_id_raw, submit, total(gpu_usd) AS gpu_usd, total(mem_usd) AS mem_usd, total(core_usd) AS core_usd,
    total(gpu_used_usd) AS gpu_used_usd, total(mem_used_usd) AS mem_used_usd, total(core_used_usd) AS core_used_usd
FROM charge GROUP BY cluster, job_id_raw, submit
