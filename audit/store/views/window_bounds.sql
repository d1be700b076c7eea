-- window_bounds: from inclusive, to exclusive; what audit.toml says, else the span in which attempts held
-- something, an attempt that still ran counted up to the last time seen in the evidence.
CREATE OR REPLACE TEMP VIEW window_bounds AS
SELECT
    coalesce(a.window_from, s.first_time) AS from_time,
    coalesce(a.window_to, s.last_time) AS to_time,
    a.window_from IS NULL OR a.window_to IS NULL AS is_default
FROM asked_window AS a,
    (SELECT min(from_time) AS first_time, max(greatest(from_time, coalesce(to_time, from_time))) AS last_time FROM span) AS s;
