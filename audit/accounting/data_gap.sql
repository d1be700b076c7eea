-- data_gap: whole days (UTC) of the window on which accounting says nothing - no attempt was submitted,
-- started, ended or running - while some node was up. A gap in the data, not idleness. An attempt that had
-- not ended is known to run up to the last time that accounting speaks of.
WITH last_word AS (
    SELECT max(greatest(epoch(submit), coalesce(epoch(start_time), 0), coalesce(epoch(end_time), 0))) AS s FROM job
), seen AS (
    SELECT floor(epoch(submit) / 86400) AS first_day, floor(epoch(submit) / 86400) AS last_day FROM job
    UNION ALL
    SELECT floor(epoch(start_time) / 86400),
        floor(greatest(epoch(start_time), coalesce(epoch(end_time), last_word.s)) / 86400)
    FROM job CROSS JOIN last_word WHERE start_time IS NOT NULL
), mark AS (
    SELECT first_day AS day, 1 AS step FROM seen
    UNION ALL
    SELECT last_day + 1, -1 FROM seen
    UNION ALL
    SELECT ceil(epoch(from_time) / 86400), 0 FROM window_bounds
    UNION ALL
    SELECT floor(epoch(to_time) / 86400), 0 FROM window_bounds
), daily AS (
    SELECT day, sum(step) AS step FROM mark GROUP BY day
), running AS (
    SELECT day, lead(day) OVER (ORDER BY day) AS next_day,
        sum(step) OVER (ORDER BY day ROWS UNBOUNDED PRECEDING) AS seen
    FROM daily
), silent AS (
    SELECT day * 86400 AS from_s, next_day * 86400 AS to_s
    FROM running CROSS JOIN window_bounds AS w
    WHERE seen = 0 AND day * 86400 >= epoch(w.from_time) AND next_day * 86400 <= epoch(w.to_time)
)
SELECT from_s, to_s FROM silent
WHERE from_s < to_s AND (SELECT count(*) FROM slice_node) > (
    SELECT count(DISTINCT d.node) FROM node_state AS d JOIN slice_node USING (cluster, node)
    WHERE d.is_down AND epoch(d.from_time) <= silent.from_s
        AND (d.to_time IS NULL OR epoch(d.to_time) >= silent.to_s)
)
