-- Where a node's clock was stepped: in one boot the clock runs beside the one that counts from the boot, at an offset
-- that stays. Intervals whose offset is more than 30 s from the one that most of the boot's time had are moved to
-- it, with all that came in them, and an event says so. Undone and done anew each time.
CREATE OR REPLACE TEMP TABLE clock AS
WITH told AS (
    SELECT file_id, interval_no, cluster, node, boot_id, shift_s, interval_s, from_time,
        epoch(from_time) - shift_s - mono_s AS offset_s
    FROM sample_interval WHERE boot_id IS NOT NULL AND mono_s IS NOT NULL
), usual AS (
    SELECT cluster, node, boot_id, arg_max(offset_s, watched_s) AS usual_s FROM (
        SELECT cluster, node, boot_id, floor(offset_s / 60), median(offset_s) AS offset_s, sum(interval_s) AS watched_s
        FROM told GROUP BY ALL
    ) GROUP BY cluster, node, boot_id
), due AS (
    SELECT t.file_id, t.interval_no, t.cluster, t.node, t.from_time, t.shift_s,
        CASE WHEN abs(u.usual_s - t.offset_s) > 30 THEN round(u.usual_s - t.offset_s, 3) ELSE 0 END AS due_s
    FROM told AS t JOIN usual AS u USING (cluster, node, boot_id)
)
SELECT * FROM due WHERE shift_s <> due_s;

UPDATE sample_interval AS s SET from_time = s.from_time + to_microseconds(CAST((c.due_s - s.shift_s) * 1000000 AS BIGINT)), shift_s = c.due_s
FROM clock AS c WHERE s.file_id = c.file_id AND s.interval_no = c.interval_no;
UPDATE sample_job AS s SET from_time = s.from_time + to_microseconds(CAST((c.due_s - s.shift_s) * 1000000 AS BIGINT)), shift_s = c.due_s
FROM clock AS c WHERE s.file_id = c.file_id AND s.interval_no = c.interval_no;
UPDATE sample_gpu AS s SET from_time = s.from_time + to_microseconds(CAST((c.due_s - s.shift_s) * 1000000 AS BIGINT)), shift_s = c.due_s
FROM clock AS c WHERE s.file_id = c.file_id AND s.interval_no = c.interval_no;
UPDATE sample_gpu_job AS s SET from_time = s.from_time + to_microseconds(CAST((c.due_s - s.shift_s) * 1000000 AS BIGINT)), shift_s = c.due_s
FROM clock AS c WHERE s.file_id = c.file_id AND s.interval_no = c.interval_no;
UPDATE sample_mig AS s SET from_time = s.from_time + to_microseconds(CAST((c.due_s - s.shift_s) * 1000000 AS BIGINT)), shift_s = c.due_s
FROM clock AS c WHERE s.file_id = c.file_id AND s.interval_no = c.interval_no;
UPDATE sample_node AS s SET from_time = s.from_time + to_microseconds(CAST((c.due_s - s.shift_s) * 1000000 AS BIGINT)), shift_s = c.due_s
FROM clock AS c WHERE s.file_id = c.file_id AND s.interval_no = c.interval_no;
UPDATE allocation_seen AS s SET at_time = s.at_time + to_microseconds(CAST((c.due_s - s.shift_s) * 1000000 AS BIGINT)), shift_s = c.due_s
FROM clock AS c WHERE s.file_id = c.file_id AND s.interval_no = c.interval_no;
UPDATE collector_gap AS s SET from_time = s.from_time + to_microseconds(CAST((c.due_s - s.shift_s) * 1000000 AS BIGINT)), shift_s = c.due_s
FROM clock AS c WHERE s.file_id = c.file_id AND s.interval_no = c.interval_no;
UPDATE collector_event AS s SET at_time = s.at_time + to_microseconds(CAST((c.due_s - s.shift_s) * 1000000 AS BIGINT)), shift_s = c.due_s
FROM clock AS c WHERE s.file_id = c.file_id AND s.interval_no = c.interval_no;

DELETE FROM collector_event WHERE kind = 'clock set right';
INSERT INTO collector_event (file_id, cluster, node, at_time, kind, text)
SELECT file_id, cluster, node, min(from_time), 'clock set right', count(*) || ' intervals moved by ' || shift_s || ' s'
FROM sample_interval WHERE shift_s <> 0 GROUP BY file_id, cluster, node, shift_s;
