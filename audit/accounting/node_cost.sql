-- node_cost: the cost of an attempt = node price x the integral of its share of the binding resource, over
-- its nodes: it reads the running integrals at its start and its end. In US dollars for the window, by the
-- resource through which they were charged.
SELECT s.cluster, s.job_id_raw, s.submit,
    sum(s.usd_per_hour / 3600 * s.gpu_share * (z.gpu_s - a.gpu_s)) AS gpu_usd,
    sum(s.usd_per_hour / 3600 * s.mem_share * (z.mem_s - a.mem_s)) AS mem_usd,
    sum(s.usd_per_hour / 3600 * s.core_share * (z.core_s - a.core_s)) AS core_usd
FROM share AS s
JOIN binding AS a ON a.cluster = s.cluster AND a.node = s.node AND a.at_s = s.from_s
JOIN binding AS z ON z.cluster = s.cluster AND z.node = s.node AND z.at_s = s.to_s
GROUP BY s.cluster, s.job_id_raw, s.submit
