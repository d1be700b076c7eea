-- explain_jobs: the logical jobs of the attempts opened. Each counts once; where the figure is a share, those count in it
-- of whose dollars at least half were measured.
SELECT logical_job AS job, min(user_name) AS "user", min(account) AS account, min(job_name) AS job_name, count(*) AS attempts,
    CASE WHEN sum(amount) < sum(of_amount) / 2 THEN 0 ELSE 1 END AS amount,
    CASE WHEN sum(of_amount) > 0 THEN 1 END AS of_amount
FROM opened_attempt GROUP BY cluster, logical_job
