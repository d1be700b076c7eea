-- gpu_map: which cards, by UUID, an attempt held on a node. By the controller where it was asked (`scontrol show job
-- -d`: IDX is the card's minor number; inside its cgroup every attempt counts its cards from 0), else by the node's
-- devices cgroups or an exporter's word, else by the processes seen on the card, else all of the node's where it held
-- all of them. Instances (MIG) are no cards. A card that telemetry did not see has no uuid. is_shared: another attempt
-- held the card at the same time.
WITH card AS (
    SELECT cluster, node, minor, arg_max(uuid, watched_s) AS uuid FROM (
        SELECT cluster, node, minor, uuid, sum(watched_s) AS watched_s FROM gpu_seen
        WHERE NOT is_mig GROUP BY cluster, node, minor, uuid
    ) GROUP BY cluster, node, minor
), told AS (
    SELECT s.cluster, s.node, c.uuid, s.minor, s.name, s.told_time AS first_time, s.told_time AS last_time,
        CASE WHEN c.uuid IS NOT NULL THEN 1 ELSE 5 END AS rank
    FROM (
        SELECT cluster, node, job_id AS name, coalesce(start_time, at_time) AS told_time,
            TRY_CAST(unnest(string_split(gpu_index, ',')) AS BIGINT) AS minor
        FROM allocation_seen WHERE NOT regexp_matches(coalesce(gres, ''), '[0-9]g[.][0-9]+gb')
    ) AS s LEFT JOIN card AS c USING (cluster, node, minor)
    WHERE s.minor IS NOT NULL
    UNION ALL
    SELECT cluster, node, uuid, minor, unnest(string_split(holder, ',')), first_time, last_time,
        CASE holder_source WHEN 'processes' THEN 3 ELSE 2 END
    FROM gpu_seen WHERE holder IS NOT NULL AND NOT is_mig
    UNION ALL
    SELECT a.cluster, a.node, c.uuid, c.minor, a.job_id_raw, a.from_time, a.from_time, 4
    FROM allocation AS a JOIN card AS c ON c.cluster = a.cluster AND c.node = a.node
    WHERE a.gpus >= (SELECT max(n.gpus) FROM node AS n WHERE n.cluster = a.cluster AND n.node = a.node)
), owned AS (
    SELECT DISTINCT t.cluster, j.job_id_raw, j.submit, j.start_time, j.end_time, t.node, t.uuid, t.minor, t.rank
    FROM told AS t
    JOIN attempt_name AS a ON a.cluster = t.cluster AND a.name = t.name
    JOIN job AS j ON j.cluster = a.cluster AND j.job_id_raw = a.job_id_raw AND j.submit = a.submit
    WHERE t.last_time >= j.start_time - INTERVAL 30 SECOND AND (j.end_time IS NULL OR t.first_time < j.end_time)
    QUALIFY t.rank NOT IN (1, 5) OR abs(epoch(t.first_time) - epoch(j.start_time)) = min(abs(epoch(t.first_time) - epoch(j.start_time)))
        OVER (PARTITION BY t.cluster, t.node, t.name, t.first_time, t.rank)
), best AS (
    SELECT * FROM owned QUALIFY rank = min(rank) OVER (PARTITION BY cluster, job_id_raw, submit, node)
)
SELECT row_number() OVER () AS span_no, cluster, job_id_raw, submit, node, uuid, minor AS gpu_index,
    CASE WHEN rank IN (1, 5) THEN 'controller' WHEN rank = 2 THEN 'node' WHEN rank = 3 THEN 'processes' ELSE 'whole node' END AS source,
    epoch(start_time) AS from_s, coalesce(epoch(end_time), 1e18) AS to_s,
    coalesce(max(coalesce(epoch(end_time), 1e18)) OVER earlier > epoch(start_time), false)
        OR coalesce(min(epoch(start_time)) OVER later < coalesce(epoch(end_time), 1e18), false) AS is_shared
FROM best
WINDOW earlier AS (PARTITION BY cluster, node, uuid, minor ORDER BY start_time, job_id_raw ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
    later AS (PARTITION BY cluster, node, uuid, minor ORDER BY start_time, job_id_raw ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)
