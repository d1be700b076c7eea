-- outcome: how an attempt ended. lost_cause: the state of those whose held dollars are lost: ended in failure, or cut
-- by requeue or preemption; NULL for others (CANCELLED is an ordinary end). logical_job: array tasks are jobs of their
-- own, components of a heterogeneous job are one, attempts of a requeued job are one.
SELECT cluster, job_id_raw, submit, coalesce(het_job_id, job_id_raw) AS logical_job, user_name, account, job_name,
    family(job_name) AS family, partition, state, time_limit_s, elapsed_s,
    CASE WHEN state IN ('FAILED', 'TIMEOUT', 'OUT_OF_MEMORY', 'NODE_FAIL', 'BOOT_FAIL', 'DEADLINE', 'REQUEUED',
        'PREEMPTED') THEN state END AS lost_cause
FROM job
