-- unbundled_won: by plan and attempt of which it lowers something, where node sizes are unknown: dollars of what it would
-- have given up of each resource; what running it again would cost (reruns_usd), where the plan would have killed it, by
-- what; and whether it slows it.
SELECT plan, cluster, job_id_raw, submit, total(gpu * (to_s - from_s)) AS gpu_usd, total(mem * (to_s - from_s)) AS mem_usd,
    total(core * (to_s - from_s)) AS core_usd, total(again_usd_per_s * (to_s - from_s)) AS reruns_usd,
    bool_or(by_memory) AS by_memory, bool_or(by_gpus) AS by_gpus, bool_or(is_slowed) AS is_slowed
FROM given_up GROUP BY plan, cluster, job_id_raw, submit
