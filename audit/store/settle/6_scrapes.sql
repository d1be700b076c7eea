-- A scrape of an exporter stands for the time up to the same card's next one; the last, and one with more than 5 minutes
-- to the next, for as long as the one before. With more than 5 minutes on both sides it stands for no time, nor does
-- a single one, nor one in an hour in which a collector watched the card. throttled_s: all of it where it showed a slowdown
-- by heat, by the power brake or by the hardware (the driver's bits 8, 32, 64 and 128).
CREATE OR REPLACE TEMP TABLE scrape AS
WITH watched AS (
    SELECT DISTINCT cluster, node, uuid, epoch_us(from_time) // 3600000000 AS hour FROM sample_gpu WHERE interval_no IS NOT NULL
), gap AS (
    SELECT rowid AS row_id, cluster, node, uuid, epoch_us(from_time) // 3600000000 AS hour,
        epoch(lead(from_time) OVER card) - epoch(from_time) AS next_s,
        epoch(from_time) - epoch(lag(from_time) OVER card) AS before_s
    FROM sample_gpu WHERE interval_no IS NULL
    WINDOW card AS (PARTITION BY cluster, node, uuid ORDER BY from_time)
)
SELECT g.row_id, CASE WHEN w.hour IS NOT NULL THEN 0 WHEN g.next_s <= 300 THEN g.next_s WHEN g.before_s <= 300 THEN g.before_s
    ELSE 0 END AS interval_s
FROM gap AS g LEFT JOIN watched AS w USING (cluster, node, uuid, hour);

UPDATE sample_gpu AS s SET interval_s = p.interval_s, throttled_s = CASE WHEN (s.throttle_bits & 232) > 0 THEN p.interval_s
    WHEN s.throttle_bits IS NOT NULL THEN 0 END
FROM scrape AS p WHERE s.rowid = p.row_id AND s.interval_s <> p.interval_s;
