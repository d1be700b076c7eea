-- window_bounds: from inclusive, to exclusive; what audit.toml says, else the span in which collectors watched nodes,
-- else that in which attempts held something, an attempt that still ran counted up to the last time seen in the evidence.
CREATE OR REPLACE TEMP VIEW window_bounds AS
SELECT
    coalesce(a.window_from, w.first_time, s.first_time) AS from_time,
    coalesce(a.window_to, w.last_time, s.last_time) AS to_time,
    (a.window_from IS NULL OR a.window_to IS NULL) AND w.first_time IS NULL AS is_default
FROM asked_window AS a,
    (SELECT min(from_time) AS first_time, max(greatest(from_time, coalesce(to_time, from_time))) AS last_time FROM span) AS s,
    (
        SELECT min(from_time) AS first_time, max(from_time + to_seconds(interval_s)) AS last_time
        FROM sample_interval WHERE role = 'node'
    ) AS w;
