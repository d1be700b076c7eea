-- needed: by plan, for each node and each time at which an allocation starts or ends, until the next: the largest sum of
-- the shares that attempts keep, at most held; held - needed could be sold again, free. win is that over what they gave
-- up of the binding resource together. Beside it the running integrals up to that time: of win while that resource
-- bound (gpu_win_s, mem_win_s, core_win_s), and of free in dollars (free_usd).
WITH edge AS (
    SELECT plan, node_no, from_s AS at_s, gpu, mem, core FROM cut WHERE gpu > 0 OR mem > 0 OR core > 0
    UNION ALL
    SELECT plan, node_no, to_s, -gpu, -mem, -core FROM cut WHERE gpu > 0 OR mem > 0 OR core > 0
), net AS (
    SELECT plan, node_no, at_s, sum(gpu) AS gpu, sum(mem) AS mem, sum(core) AS core FROM edge GROUP BY plan, node_no, at_s
), gives AS (
    SELECT DISTINCT plan, node_no FROM net
), level AS (
    SELECT g.plan, b.node_no, b.at_s, b.span_s, b.usd_per_hour, b.resource, b.total, b.held, b.gpu, b.mem, b.core,
        round(coalesce(sum(n.gpu) OVER up_to, 0), 9) AS gpu_cut, round(coalesce(sum(n.mem) OVER up_to, 0), 9) AS mem_cut,
        round(coalesce(sum(n.core) OVER up_to, 0), 9) AS core_cut
    FROM gives AS g JOIN binding AS b USING (node_no) LEFT JOIN net AS n USING (plan, node_no, at_s)
    WINDOW up_to AS (PARTITION BY g.plan, b.node_no ORDER BY b.at_s ROWS UNBOUNDED PRECEDING)
), given_up AS (
    SELECT *, held - least(held, greatest(gpu - gpu_cut, mem - mem_cut, core - core_cut)) AS free,
        CASE resource WHEN 'gpu' THEN gpu_cut WHEN 'mem' THEN mem_cut WHEN 'core' THEN core_cut ELSE 0 END AS given_up
    FROM level
), won AS (
    SELECT plan, node_no, at_s, span_s, resource, usd_per_hour, held - free AS needed, free,
        CASE WHEN given_up > 1e-8 THEN free / given_up ELSE 0 END AS win
    FROM given_up
)
SELECT *, coalesce(sum(CASE WHEN resource = 'gpu' THEN span_s * win END) OVER before, 0) AS gpu_win_s,
    coalesce(sum(CASE WHEN resource = 'mem' THEN span_s * win END) OVER before, 0) AS mem_win_s,
    coalesce(sum(CASE WHEN resource = 'core' THEN span_s * win END) OVER before, 0) AS core_win_s,
    coalesce(sum(span_s / 3600 * free * usd_per_hour) OVER before, 0) AS free_usd
FROM won
WINDOW before AS (PARTITION BY plan, node_no ORDER BY at_s ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
