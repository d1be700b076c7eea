-- explain_abstained: the attempts that the model gave no advice for, and whether the replay has them at all.
SELECT j.job_id, o.submit, o.user_name AS "user", o.account, o.job_name, o.partition, o.state,
    r.cluster IS NOT NULL AS is_replayed, o.amount, o.of_amount
FROM opened_attempt AS o
JOIN job AS j USING (cluster, job_id_raw, submit)
LEFT JOIN advice AS r USING (cluster, job_id_raw, submit)
