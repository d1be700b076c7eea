-- recoverable_by_day: what could be won back on each day, in their order: the draws of days take them by number.
SELECT day, recoverable_usd, expected_usd FROM recoverable_day ORDER BY day
