-- A scrape of an exporter stands for the time up to the same card's next one, at most 5 minutes; the last for as long as
-- the one before. A single one stands for no time. throttled_s: all of it where it showed a slowdown by heat, by the
-- power brake or by the hardware (the driver's bits 8, 32, 64 and 128).
CREATE OR REPLACE TEMP TABLE scrape AS
WITH gap AS (
    SELECT rowid AS row_id, epoch(lead(from_time) OVER card) - epoch(from_time) AS next_s,
        epoch(from_time) - epoch(lag(from_time) OVER card) AS before_s
    FROM sample_gpu WHERE interval_no IS NULL
    WINDOW card AS (PARTITION BY cluster, node, uuid ORDER BY from_time)
)
SELECT row_id, least(300, coalesce(next_s, before_s, 0)) AS interval_s FROM gap;

UPDATE sample_gpu AS s SET interval_s = p.interval_s, throttled_s = CASE WHEN (s.throttle_bits & 232) > 0 THEN p.interval_s
    WHEN s.throttle_bits IS NOT NULL THEN 0 END
FROM scrape AS p WHERE s.rowid = p.row_id AND s.interval_s <> p.interval_s;
