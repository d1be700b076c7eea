-- explain_attempts: the attempts behind a figure.
SELECT j.job_id, o.submit, o.user_name AS "user", o.account, o.job_name, o.partition, o.state, o.amount, o.of_amount
FROM opened_attempt AS o JOIN job AS j USING (cluster, job_id_raw, submit)
