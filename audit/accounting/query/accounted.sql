-- accounted: hours held in the window straight from the accounting: what each record allocated x the time from its start
-- to its end, less for cores the time suspended, cut at the window, over all nodes, nothing split, capped or left out.
SELECT total(s.cores * hours * coalesce(r.run_share, 1)) AS core_hours, total(s.gpus * hours) AS gpu_hours,
    total(s.mem_bytes / 1073741824 * hours) AS mem_gib_hours
FROM (
    SELECT s.*, greatest(0, least(coalesce(epoch(s.to_time), epoch(w.to_time)), epoch(w.to_time))
        - greatest(epoch(s.from_time), epoch(w.from_time))) / 3600 AS hours
    FROM span AS s CROSS JOIN window_bounds AS w
) AS s
LEFT JOIN (
    SELECT cluster, job_id_raw, submit, elapsed_s / (elapsed_s + suspended_s) AS run_share FROM job WHERE suspended_s > 0
) AS r USING (cluster, job_id_raw, submit)
