-- users: what each user's attempts held, by bucket.
SELECT user_name AS "user", count(*) AS attempts, count(DISTINCT (account, family)) AS families,
    sum(core_hours) AS core_hours, sum(gpu_hours) AS gpu_hours, sum(usd) AS held_usd, sum(used_usd) AS used_usd,
    sum(kept_usd) AS kept_usd, sum(not_measured_usd) AS not_measured_usd, sum(lost_usd) AS lost_usd,
    sum(recoverable_usd) AS recoverable_usd
FROM attempt GROUP BY user_name ORDER BY recoverable_usd DESC NULLS LAST, held_usd DESC NULLS LAST, "user"
