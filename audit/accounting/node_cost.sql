-- node_cost: what an attempt cost on one node over one span of its allocation = node price x the integral of its share
-- of the binding resource: it reads the running integrals at its start and its end. In US dollars for the window, by the
-- resource through which it was charged; beside it the part of them that was used (NULL: not measured), and recoverable:
-- in proportion to what it gave up of the binding resource.
WITH opened AS MATERIALIZED (  -- one join at a time: both points of an attempt are on its node, and all else there
    SELECT s.*, s.usd_per_hour / 3600 AS usd_per_s, a.gpu_s AS gpu_a, a.mem_s AS mem_a, a.core_s AS core_a,
        a.gpu_win_s AS gpu_win_a, a.mem_win_s AS mem_win_a, a.core_win_s AS core_win_a
    FROM share AS s JOIN running AS a ON a.cluster = s.cluster AND a.node = s.node AND a.at_s = s.from_s
)
SELECT o.cluster, o.job_id_raw, o.submit, o.node,
    usd_per_s * gpu_share * (z.gpu_s - gpu_a) AS gpu_usd,
    usd_per_s * mem_share * (z.mem_s - mem_a) AS mem_usd,
    usd_per_s * core_share * (z.core_s - core_a) AS core_usd,
    usd_per_s * gpu_used * (z.gpu_s - gpu_a) AS gpu_used_usd,
    usd_per_s * mem_used * (z.mem_s - mem_a) AS mem_used_usd,
    usd_per_s * core_used * (z.core_s - core_a) AS core_used_usd,
    usd_per_s * (gpu_share - gpu_kept) * (z.gpu_win_s - gpu_win_a) AS gpu_recoverable_usd,
    usd_per_s * (mem_share - mem_kept) * (z.mem_win_s - mem_win_a) AS mem_recoverable_usd,
    usd_per_s * (core_share - core_kept) * (z.core_win_s - core_win_a) AS core_recoverable_usd
FROM opened AS o JOIN running AS z ON z.cluster = o.cluster AND z.node = o.node AND z.at_s = o.to_s
