-- node_won: by plan and attempt of which it lowers something: dollars won back by the binding resource that was given up;
-- what running it again would cost (reruns_usd), where the plan would have killed it, by what; and whether it slows it.
SELECT w.plan, h.cluster, h.job_id_raw, h.submit, total(gpu_hours * usd_per_hour) AS gpu_usd,
    total(mem_hours * usd_per_hour) AS mem_usd, total(core_hours * usd_per_hour) AS core_usd,
    total(again_hours * usd_per_hour) AS reruns_usd, bool_or(by_memory) AS by_memory, bool_or(by_gpus) AS by_gpus,
    bool_or(is_slowed) AS is_slowed
FROM won_share AS w JOIN held_allocation AS h USING (held_no)
GROUP BY w.plan, h.cluster, h.job_id_raw, h.submit
