-- won_share: by plan, what is won back of an attempt on a node over one span of its allocation, in hours of the whole node:
-- in proportion to what it gave up of the binding resource, by that resource; and what is spent on running it again.
WITH opened AS MATERIALIZED (
    SELECT c.*, a.gpu_win_s AS gpu_a, a.mem_win_s AS mem_a, a.core_win_s AS core_a
    FROM cut AS c LEFT JOIN needed AS a ON a.plan = c.plan AND a.node_no = c.node_no AND a.at_s = c.from_s
)
SELECT o.* EXCLUDE (gpu, mem, core, gpu_a, mem_a, core_a), coalesce(gpu * (z.gpu_win_s - gpu_a), 0) / 3600 AS gpu_hours,
    coalesce(mem * (z.mem_win_s - mem_a), 0) / 3600 AS mem_hours, coalesce(core * (z.core_win_s - core_a), 0) / 3600 AS core_hours
FROM opened AS o LEFT JOIN needed AS z ON z.plan = o.plan AND z.node_no = o.node_no AND z.at_s = o.to_s
