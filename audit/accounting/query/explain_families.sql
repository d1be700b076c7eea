-- explain_families: the families of the attempts opened, each counted once.
SELECT account, family, count(*) AS attempts, 1 AS amount, CAST(NULL AS DOUBLE) AS of_amount
FROM opened_attempt GROUP BY account, family
