-- bound_share: share with the hours in which each resource was the node's binding one meanwhile: it reads the running
-- integrals at its start and its end.
WITH opened AS MATERIALIZED (  -- one join at a time: both points of an attempt are on its node, and all else there
    SELECT s.*, a.gpu_s AS gpu_a, a.mem_s AS mem_a, a.core_s AS core_a
    FROM share AS s JOIN running AS a ON a.node_no = s.node_no AND a.at_s = s.from_s
)
SELECT o.* EXCLUDE (gpu_a, mem_a, core_a), (z.gpu_s - gpu_a) / 3600 AS gpu_hours, (z.mem_s - mem_a) / 3600 AS mem_hours,
    (z.core_s - core_a) / 3600 AS core_hours
FROM opened AS o JOIN running AS z ON z.node_no = o.node_no AND z.at_s = o.to_s
