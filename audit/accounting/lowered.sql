-- lowered: of which resources a plan advised an attempt less than it held, on some node, where its need of it is known: those
-- it could have killed or slowed by that resource.
SELECT plan, cluster, job_id_raw, submit, bool_or(lowers_mem) AS of_memory, bool_or(lowers_gpus) AS of_gpus,
    bool_or(lowers_cores) AS of_cores
FROM advised_shape GROUP BY plan, cluster, job_id_raw, submit
