-- reach: the first end in the accounting: before it only attempts that ended later are in it; the last time it
-- names, a dump of running attempts included; and how many
-- attempts that started or should have started in the window held nothing: they ran for 0 seconds, or never.
SELECT
    (SELECT epoch(min(end_time)) FROM job WHERE end_time > start_time) AS complete_from_s,
    (
        SELECT epoch(max(greatest(coalesce(end_time, submit), coalesce(start_time, submit), submit,
            coalesce(start_time + to_seconds(elapsed_s), submit)))) FROM job
    ) AS known_to_s,
    (
        SELECT count(*) FROM job AS j CROSS JOIN window_bounds AS w
        WHERE coalesce(j.start_time, j.end_time, j.submit) >= w.from_time
            AND coalesce(j.start_time, j.end_time, j.submit) < w.to_time
            AND (j.start_time IS NULL OR j.end_time <= j.start_time) AND j.state <> 'PENDING'
    ) AS idle_attempts
