-- accounted: hours held in the window straight from the accounting: allocated x elapsed of each record, cut at the
-- window, over all nodes, nothing split, capped or left out.
SELECT total(cores * hours) AS core_hours, total(gpus * hours) AS gpu_hours, total(mem_bytes / 1073741824 * hours) AS mem_gib_hours
FROM (
    SELECT s.cores, s.gpus, s.mem_bytes,
        greatest(0, least(coalesce(epoch(s.to_time), epoch(w.to_time)), epoch(w.to_time))
            - greatest(epoch(s.from_time), epoch(w.from_time))) / 3600 AS hours
    FROM span AS s CROSS JOIN window_bounds AS w
) AS cut
