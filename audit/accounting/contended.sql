-- contended: by plan, for each partition and hour, how much of its recoverable dollars somebody was queueing for: the
-- smaller of these and of what the requests that were eligible and waiting would have cost.
SELECT p.plan, p.partition, p.hour, least(p.recoverable_usd, coalesce(w.waiting_usd, 0)) AS usd
FROM partition_hour AS p
LEFT JOIN waiting_hour AS w ON w.partition IS NOT DISTINCT FROM p.partition AND w.hour = p.hour
