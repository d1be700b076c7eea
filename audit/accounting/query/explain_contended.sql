-- explain_contended: the partitions and hours (UTC) in which something was recoverable by a plan ($unit) while requests
-- waited for it.
SELECT c.partition, TIMESTAMP '1970-01-01' + to_seconds(c.hour * 3600) AS hour, p.recoverable_usd, w.waiting_usd,
    c.usd AS amount, CAST(NULL AS DOUBLE) AS of_amount
FROM contended AS c
JOIN partition_hour AS p ON p.plan = c.plan AND p.partition IS NOT DISTINCT FROM c.partition AND p.hour = c.hour
JOIN waiting_hour AS w ON w.partition IS NOT DISTINCT FROM c.partition AND w.hour = c.hour
WHERE c.usd <> 0 AND c.plan = $unit
