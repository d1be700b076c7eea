-- held_allocation: what attempts held on the slice inside the window: allocations clipped to it (from
-- inclusive, to exclusive; epoch seconds), those still running held to its end, data gaps left out.
-- held_no is a number for each. Suspended time holds memory and GPUs, not cores: cores are held for the part of the time that was not, run_share.
WITH ran AS (
    SELECT cluster, job_id_raw, submit,
        1 - least(1, coalesce(suspended_s, 0)
            / nullif(coalesce(epoch(end_time) - epoch(start_time), elapsed_s + suspended_s), 0)) AS run_share
    FROM job WHERE suspended_s > 0
), on_slice AS (
    SELECT a.*, epoch(a.from_time) AS first_s, coalesce(epoch(a.to_time), epoch(w.to_time)) AS last_s,
        a.exclusive OR a.partition IN (SELECT partition FROM whole_node_partition) AS whole_node
    FROM allocation AS a CROSS JOIN window_bounds AS w
    WHERE (a.cluster, a.node) IN (SELECT (cluster, node) FROM slice_node)
        OR (a.node IS NULL AND (SELECT is_whole_cluster FROM slice_scope))
)
SELECT row_number() OVER () AS held_no, a.cluster, a.job_id_raw, a.submit, a.node, a.gres, a.partition, coalesce(a.whole_node, false) AS whole_node,
    greatest(a.first_s, o.from_s) AS from_s, least(a.last_s, o.to_s) AS to_s,
    a.cores * coalesce(ran.run_share, 1) AS cores, a.mem_bytes, a.gpus,
    a.core_part, a.mem_part, a.gpu_part, coalesce(ran.run_share, 1) AS run_share
FROM on_slice AS a
JOIN observed AS o ON a.first_s < o.to_s AND a.last_s > o.from_s
LEFT JOIN ran USING (cluster, job_id_raw, submit)
