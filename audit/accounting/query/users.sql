-- users: what each user's attempts held, by bucket.
SELECT user_name AS "user", count(*) AS attempts, count(DISTINCT (account, family)) AS families,
    total(core_hours) AS core_hours, total(gpu_hours) AS gpu_hours, total(usd) AS held_usd, total(used_usd) AS used_usd,
    total(kept_usd) AS kept_usd, total(not_measured_usd) AS not_measured_usd, total(lost_usd) AS lost_usd,
    total(recoverable_usd) AS recoverable_usd
FROM attempt GROUP BY user_name ORDER BY recoverable_usd DESC NULLS LAST, held_usd DESC NULLS LAST, "user"
