-- opened_abstained: the attempts of opened_list that the model gave no advice for, with what each adds ($measure; missing:
-- those of them only that the replay lacks).
SELECT l.cluster, l.job_id_raw, l.submit, logical_job, user_name, account, job_name, family, partition, state,
    CASE $measure WHEN 'usd' THEN usd ELSE 1 END AS amount, CAST(NULL AS DOUBLE) AS of_amount
FROM opened_list AS l LEFT JOIN advice AS r USING (cluster, job_id_raw, submit)
WHERE coalesce(r.abstained, true) AND ($measure <> 'missing' OR r.cluster IS NULL)
