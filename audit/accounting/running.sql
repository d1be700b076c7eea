-- running: binding with the running integrals up to each of its times: gpu_s, mem_s and core_s are the seconds in
-- which that resource was the binding one, held_usd the dollars of the node. An attempt reads two points of them.
SELECT *,
    coalesce(sum(CASE WHEN resource = 'gpu' THEN span_s * scale END) OVER before, 0) AS gpu_s,
    coalesce(sum(CASE WHEN resource = 'mem' THEN span_s * scale END) OVER before, 0) AS mem_s,
    coalesce(sum(CASE WHEN resource = 'core' THEN span_s * scale END) OVER before, 0) AS core_s,
    coalesce(sum(span_s / 3600 * held * usd_per_hour) OVER before, 0) AS held_usd
FROM binding
WINDOW before AS (PARTITION BY node_no ORDER BY at_s ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
