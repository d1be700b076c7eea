-- explain_advice: the attempts behind a figure of advice given in advance, by a plan ($unit; where that is empty, the plan
-- at $quantile): over all nodes, what each held, what it was advised, and what it used.
SELECT j.job_id, o.submit, o.user_name AS "user", o.account, o.job_name, o.partition, o.state,
    u.held_mem_bytes, r.mem_bytes AS advised_mem_bytes, u.mem_used_bytes, u.held_gpus, r.gpus AS advised_gpus, u.gpus_used,
    u.held_cores, r.cores AS advised_cores, u.cores_max, o.amount, o.of_amount
FROM opened_attempt AS o
JOIN job AS j USING (cluster, job_id_raw, submit)
JOIN usage AS u USING (cluster, job_id_raw, submit)
JOIN recommendation AS r USING (cluster, job_id_raw, submit)
JOIN plan AS p ON p.quantile = r.quantile
    AND CASE $unit WHEN '' THEN p.quantile = $quantile AND NOT p.watched_only ELSE p.plan = $unit END
