-- contended: recoverable dollars that somebody was queueing for, judged with hindsight and by advice given before
-- (expected), and whether the accounting tells since when requests were eligible at all.
SELECT coalesce(total(CASE WHEN plan = 'high' THEN usd END), 0) AS usd,
    coalesce(total(CASE WHEN plan = 'expected' THEN usd END), 0) AS expected_usd,
    EXISTS (SELECT 1 FROM job WHERE eligible IS NOT NULL) AS eligible_is_known
FROM contended
