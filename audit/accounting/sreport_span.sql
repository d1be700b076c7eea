-- sreport_span: the spans (epoch seconds) of Slurm's own roll-up that lie whole in the window; of spans that overlap the
-- longest, of one span the file that came last.
WITH told AS (
    SELECT r.cluster, r.from_time, r.to_time, max(r.file_id) AS file_id
    FROM sreport_record AS r CROSS JOIN window_bounds AS w
    WHERE r.from_time >= w.from_time AND r.to_time <= w.to_time GROUP BY r.cluster, r.from_time, r.to_time
)
SELECT t.*, epoch(t.from_time) AS from_s, epoch(t.to_time) AS to_s FROM told AS t
WHERE NOT EXISTS (
    SELECT 1 FROM told AS o WHERE o.from_time < t.to_time AND o.to_time > t.from_time
        AND (epoch(o.from_time) - epoch(o.to_time), o.from_time) < (epoch(t.from_time) - epoch(t.to_time), t.from_time)
)
