-- gpu_activity_bins: GPU-hours held, by the attempt's mean GPU activity in tenths (bin 0: 0 to 10 %), apart from those
-- of GPUs that were never touched and those of attempts whose GPUs were not measured.
WITH split AS (
    SELECT gpu_hours, gpu_util, gpu_source IS NOT NULL AS is_measured,
        CASE WHEN gpu_source IS NOT NULL THEN gpu_hours * (1 - gpu_used_share) ELSE 0 END AS untouched_hours
    FROM attempt WHERE gpu_hours > 0
)
SELECT 'never touched' AS kind, NULL AS bin, total(untouched_hours) AS gpu_hours FROM split WHERE is_measured
UNION ALL
SELECT 'activity', CAST(least(9, floor(gpu_util / 10)) AS INTEGER), total(gpu_hours - untouched_hours)
FROM split WHERE is_measured AND gpu_util IS NOT NULL GROUP BY 2
UNION ALL
SELECT 'activity unknown', NULL, total(gpu_hours - untouched_hours) FROM split WHERE is_measured AND gpu_util IS NULL
UNION ALL
SELECT 'not measured', NULL, total(gpu_hours) FROM split WHERE NOT is_measured
ORDER BY kind, bin
