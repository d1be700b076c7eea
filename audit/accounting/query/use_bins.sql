-- use_bins: hours held of memory and cores, and elapsed hours of walltime, by the part of what was asked that was used, in
-- tenths (bin 0: up to 10 %; 10: more than was asked; NULL: not measured). Walltime of attempts that completed in the
-- window under a limit; of all others it bounds the need only.
WITH part AS (
    SELECT 'memory' AS resource, mem_used_bytes / nullif(held_mem_bytes, 0) AS share, mem_source AS source, mem_gib_hours AS hours
    FROM attempt WHERE mem_gib_hours > 0
    UNION ALL
    SELECT 'cores', cores_used / nullif(held_cores, 0), core_source, core_hours FROM attempt WHERE core_hours > 0
    UNION ALL
    SELECT 'walltime', walltime_s / nullif(time_limit_s, 0), CASE WHEN walltime_s IS NOT NULL THEN 'accounting' END,
        elapsed_s / 3600
    FROM attempt WHERE elapsed_s > 0
)
SELECT resource, CASE WHEN source IS NOT NULL AND share IS NOT NULL THEN CASE WHEN share > 1 THEN 10
        ELSE CAST(least(9, floor(share * 10)) AS INTEGER) END END AS bin,
    count(*) AS attempts, total(hours) AS hours
FROM part GROUP BY ALL ORDER BY resource, bin
