-- span_held: what an attempt held over its whole life, in or out of window and slice: the mean of its cores over
-- time (NULL where not stated), the most memory and the most GPUs. has_mig: some of these may be MIG instances.
WITH timed AS (
    SELECT *, coalesce(epoch(to_time), greatest(epoch(w_to), epoch(from_time) + 1)) - epoch(from_time) AS held_s
    FROM span CROSS JOIN (SELECT to_time AS w_to FROM window_bounds) AS w
)
SELECT cluster, job_id_raw, submit, sum(cores * held_s) / nullif(sum(held_s), 0) AS held_cores,
    max(mem_bytes) AS held_mem_bytes, max(gpus) AS held_gpus,
    coalesce(bool_or(regexp_matches(gres, '[0-9]g[.][0-9]+gb') OR node_list IN (
        SELECT h.node_list FROM host_list AS h JOIN node AS n USING (node) WHERE regexp_matches(n.gres, '[0-9]g[.][0-9]+gb')
    )), false) AS has_mig
FROM timed GROUP BY cluster, job_id_raw, submit
