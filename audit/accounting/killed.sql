-- killed: the attempts that what a plan advised would have killed: less memory, or fewer GPUs, than their need on some node.
SELECT plan, cluster, job_id_raw, submit, bool_or(short_of_mem) AS by_memory, bool_or(short_of_gpus) AS by_gpus
FROM advised_shape WHERE short_of_mem OR short_of_gpus GROUP BY plan, cluster, job_id_raw, submit
