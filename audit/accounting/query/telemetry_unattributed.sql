-- telemetry_unattributed: what telemetry saw that could not be laid to an attempt, by kind, most hours first.
SELECT kind, count(DISTINCT node) AS nodes, CAST(sum(intervals) AS BIGINT) AS intervals, sum(hours) AS hours
FROM unattributed GROUP BY kind ORDER BY hours DESC, kind
