-- explain_partitions: the partitions of the attempts opened, each counted once.
SELECT partition, count(*) AS attempts, 1 AS amount, CAST(NULL AS DOUBLE) AS of_amount
FROM opened_attempt WHERE partition IS NOT NULL GROUP BY partition
