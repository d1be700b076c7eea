-- explain_users: the users of the attempts opened, each counted once.
SELECT user_name AS "user", count(*) AS attempts, 1 AS amount, CAST(NULL AS DOUBLE) AS of_amount
FROM opened_attempt WHERE user_name IS NOT NULL GROUP BY user_name
