-- accounts: what each account's attempts held, by bucket.
SELECT account, count(*) AS attempts, count(DISTINCT user_name) AS users, sum(core_hours) AS core_hours,
    sum(gpu_hours) AS gpu_hours, sum(usd) AS held_usd, sum(used_usd) AS used_usd, sum(kept_usd) AS kept_usd,
    sum(not_measured_usd) AS not_measured_usd, sum(lost_usd) AS lost_usd, sum(recoverable_usd) AS recoverable_usd
FROM attempt GROUP BY account ORDER BY recoverable_usd DESC NULLS LAST, held_usd DESC NULLS LAST, account
