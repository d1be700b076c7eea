-- sreport: hours that Slurm's own roll-up gives to allocated and down time, by unit, beside what this report has as held
-- in the same spans. Of memory Slurm counts MiB. No row where no span lies whole in the window.
WITH slurm AS (
    SELECT CASE r.tres WHEN 'cpu' THEN 'core-hours' WHEN 'gres/gpu' THEN 'GPU-hours' ELSE 'memory GiB-hours' END AS unit,
        sum(r.allocated_s / CASE r.tres WHEN 'mem' THEN 1024 ELSE 1 END) / 3600 AS allocated_hours,
        sum(r.down_s / CASE r.tres WHEN 'mem' THEN 1024 ELSE 1 END) / 3600 AS down_hours
    FROM sreport_record AS r JOIN sreport_span AS c USING (cluster, from_time, to_time, file_id)
    WHERE r.tres IN ('cpu', 'mem', 'gres/gpu') GROUP BY r.tres
), held AS (
    SELECT total(cores * s) / 3600 AS core, total(gpus * s) / 3600 AS gpu, total(mem_bytes / 1073741824 * s) / 3600 AS mem
    FROM (
        SELECT h.cores, h.gpus, h.mem_bytes, least(h.to_s, c.to_s) - greatest(h.from_s, c.from_s) AS s
        FROM held_allocation AS h JOIN sreport_span AS c ON h.from_s < c.to_s AND h.to_s > c.from_s
    ) AS held_there
)
SELECT s.unit, s.allocated_hours, s.down_hours,
    CASE s.unit WHEN 'core-hours' THEN h.core WHEN 'GPU-hours' THEN h.gpu ELSE h.mem END AS held_hours
FROM slurm AS s CROSS JOIN held AS h
ORDER BY CASE s.unit WHEN 'core-hours' THEN 1 WHEN 'GPU-hours' THEN 2 ELSE 3 END
