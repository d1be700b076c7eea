-- contended: recoverable dollars that somebody was queueing for, and whether the accounting tells since when requests
-- were eligible at all.
SELECT coalesce(total(usd), 0) AS usd, EXISTS (SELECT 1 FROM job WHERE eligible IS NOT NULL) AS eligible_is_known
FROM contended
