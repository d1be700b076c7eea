-- evidence_span: the window asked for, and the time in which attempts of the evidence held something.
SELECT w.from_time, w.to_time, s.first_time, s.last_time
FROM window_bounds AS w
CROSS JOIN (SELECT min(from_time) AS first_time, max(coalesce(to_time, from_time)) AS last_time FROM span) AS s
