-- gpu_held: the samples of each GPU, summed over each span in which an attempt held it, and (span_no NULL) over the time in
-- which none is known to have. A sample belongs to the attempts that held the card at the middle of its interval: cards
-- and hours are joined, no time is searched. active_s: intervals in which it was active.
WITH seen AS (
    SELECT max(hour) AS last_hour FROM gpu_seen
), hour AS (
    SELECT cluster, node, uuid, span_no, from_s, to_s,
        unnest(range(CAST(floor(from_s / 3600) AS BIGINT), CAST(least(floor(to_s / 3600), s.last_hour) AS BIGINT) + 2)) AS hour
    FROM gpu_map CROSS JOIN seen AS s
), sample AS (
    SELECT cluster, node, uuid, from_time, epoch(from_time) + interval_s / 2 AS at_s, interval_s, util_mean, util_max,
        throttled_s, graphics_active_mean, mem_bytes_max
    FROM sample_gpu
)
SELECT s.cluster, s.node, s.uuid, h.span_no, min(s.from_time) AS first_time, count(*) AS intervals,
    sum(s.interval_s) AS watched_s, sum(s.util_mean * s.interval_s) AS util_s,
    sum(CASE WHEN s.util_mean IS NOT NULL THEN s.interval_s END) AS util_watched_s,
    greatest(max(s.util_mean), max(s.util_max), max(s.graphics_active_mean)) AS most_active,
    sum(CASE WHEN greatest(s.util_mean, s.util_max, s.graphics_active_mean) > 0 THEN s.interval_s END) AS active_s,
    count(CASE WHEN greatest(s.util_mean, s.util_max, s.graphics_active_mean) > 0 THEN 1 END) AS active_intervals,
    max(s.mem_bytes_max) AS mem_bytes, min(s.mem_bytes_max) AS least_bytes, sum(s.throttled_s) AS throttled_s,
    bool_or(coalesce(s.util_mean >= 50 AND s.graphics_active_mean = 0, false)) AS is_contradicted
FROM sample AS s
LEFT JOIN hour AS h ON h.uuid = s.uuid AND h.hour = CAST(floor(s.at_s / 3600) AS BIGINT) AND h.node = s.node
    AND h.cluster = s.cluster AND s.at_s >= h.from_s AND s.at_s < h.to_s
GROUP BY s.cluster, s.node, s.uuid, h.span_no
