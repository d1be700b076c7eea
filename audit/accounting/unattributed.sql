-- unattributed: what telemetry saw in the slice and the window that could be laid to no attempt, by kind and node: cgroups
-- of a job that the accounting does not know, cgroups like a job's whose job could not be told, GPUs active while no job
-- is known to hold them, and nodes with Slurm's steps of which no job could be told. Hours are of these.
WITH seen AS (
    SELECT 'job cgroup without attempt' AS kind, cluster, node, intervals, watched_s, job AS example, first_time AS at_time
    FROM cgroup_use WHERE job_id_raw IS NULL
    UNION ALL
    SELECT 'cgroup of no known job', cluster, node, unmapped, unmapped * interval_s, NULL, from_time
    FROM sample_interval WHERE unmapped > 0
    UNION ALL
    SELECT 'active GPU without holder', cluster, node, active_intervals, active_s, uuid, first_time
    FROM gpu_held WHERE span_no IS NULL AND active_s > 0
    UNION ALL
    SELECT 'node with steps of no known job', cluster, node, 1, interval_s, NULL, from_time
    FROM sample_interval WHERE busy = 1
)
SELECT s.kind, s.cluster, s.node, TRY_CAST(sum(s.intervals) AS BIGINT) AS intervals, sum(s.watched_s) / 3600 AS hours,
    max(s.example) AS example
FROM seen AS s JOIN slice_node USING (cluster, node) CROSS JOIN window_bounds AS w
WHERE s.at_time >= w.from_time - INTERVAL 1 HOUR AND s.at_time < w.to_time
GROUP BY s.kind, s.cluster, s.node
