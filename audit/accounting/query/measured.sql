-- measured: for each resource, the attempts that held some of it, by where their use was measured or why not;
-- held_hours are theirs, used_hours the part of them that was used (at most what was held).
WITH by_resource AS (
    SELECT 'memory' AS resource, mem_source AS source, mem_reason AS reason, mem_gib_hours AS hours,
        mem_used_share AS used_share
    FROM attempt WHERE mem_gib_hours > 0
    UNION ALL
    SELECT 'cores', core_source, core_reason, core_hours, core_used_share FROM attempt WHERE core_hours > 0
    UNION ALL
    SELECT 'gpus', gpu_source, gpu_reason, gpu_hours, gpu_used_share FROM attempt WHERE gpu_hours > 0
)
SELECT resource, source, CASE WHEN source IS NULL THEN reason END AS reason, count(*) AS attempts,
    total(hours) AS held_hours, total(hours * used_share) AS used_hours
FROM by_resource GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
