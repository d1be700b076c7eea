-- recommend_attempt: every attempt in its family (of each user apart where $by_user): what it held, what was advised before
-- it started at policy.quantile (over all nodes, rounded up on each; NULL: it keeps what it held) and what that would have
-- won. is_recent: submitted in the last quarter of the window, or one of the family's last ten. Where it ran out of memory,
-- or used more than it held, what it should have asked for: its peak, at least $retry times what it was killed at.
WITH told AS (
    SELECT a.*, dense_rank() OVER (ORDER BY a.account, a.family, CASE WHEN $by_user THEN a.user_name END) AS family_no,
        greatest(coalesce(j.node_count, 1), 1) AS nodes, j.end_time IS NOT NULL AS has_ended, p.mem_step_bytes,
        r.cores AS told_cores, r.mem_bytes AS told_mem_bytes, r.gpus AS told_gpus, coalesce(r.abstained, true) AS is_abstained,
        e.gpu_usd AS e_gpu_usd, e.mem_usd AS e_mem_usd, e.core_usd AS e_core_usd, e.reruns_usd AS e_reruns_usd,
        e.by_memory OR e.by_gpus AS is_killed, e.is_slowed, coalesce(s.ran_out_of_memory, false) OR a.state = 'OUT_OF_MEMORY' AS ran_out,
        coalesce(a.asks_too_little AND a.mem_used_bytes > a.held_mem_bytes, false) AS is_above,
        coalesce(a.asks_too_little AND a.cores_max > a.held_cores, false) AS is_above_cores
    FROM attempt AS a
    JOIN job AS j USING (cluster, job_id_raw, submit)
    CROSS JOIN policy AS p
    LEFT JOIN advice AS r USING (cluster, job_id_raw, submit)
    LEFT JOIN expected AS e USING (cluster, job_id_raw, submit)
    LEFT JOIN step_memory AS s USING (cluster, job_id_raw, submit)
)
SELECT family_no, account, family, user_name, partition, submit, nodes, has_ended, is_whole, is_abstained, usd, lost_usd, time_limit_s, walltime_s,
    held_cores, held_mem_bytes, held_gpus, mem_source, mem_used_bytes, gpus_used, e_gpu_usd, e_mem_usd, e_core_usd,
    e_reruns_usd, is_killed, is_slowed, ran_out, is_above, is_above_cores,
    submit >= $recent_from OR row_number() OVER (PARTITION BY family_no ORDER BY submit DESC, job_id_raw) <= 10 AS is_recent,
    CASE WHEN told_cores IS NOT NULL AND NOT is_whole
        THEN least(held_cores, greatest(1, in_steps(told_cores / nodes, 1)) * nodes) END AS cores_advised,
    CASE WHEN told_mem_bytes IS NOT NULL AND NOT is_whole
        THEN least(held_mem_bytes, greatest(1, in_steps(told_mem_bytes / nodes, mem_step_bytes) / mem_step_bytes) * mem_step_bytes * nodes)
        END AS mem_advised_bytes,
    CASE WHEN told_gpus IS NOT NULL AND NOT is_whole THEN least(held_gpus, in_steps(told_gpus / nodes, 1) * nodes) END AS gpus_advised,
    CASE WHEN ran_out OR is_above THEN least(nodes * (SELECT max(mem_bytes) FROM node), in_steps(
        greatest(mem_used_bytes, CASE WHEN ran_out THEN $retry * held_mem_bytes END) / nodes, mem_step_bytes) * nodes) END AS mem_short_bytes,
    CASE WHEN is_above_cores THEN ceil(cores_max) END AS cores_short
FROM told
