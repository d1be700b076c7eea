-- observed: the window (from inclusive, to exclusive) less its data gaps, as spans in epoch seconds.
WITH edge AS (
    SELECT from_s, to_s FROM data_gap
    UNION ALL
    SELECT epoch(to_time), epoch(to_time) FROM window_bounds
), part AS (
    SELECT lag(to_s) OVER (ORDER BY from_s) AS from_s, from_s AS to_s FROM edge
)
SELECT coalesce(part.from_s, epoch(w.from_time)) AS from_s, part.to_s
FROM part CROSS JOIN window_bounds AS w
WHERE coalesce(part.from_s, epoch(w.from_time)) < part.to_s
