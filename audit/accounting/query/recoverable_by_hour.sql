-- recoverable_by_hour: recoverable dollars of each hour of the window (epoch seconds / 3600), over all partitions.
SELECT hour, sum(recoverable_usd) AS recoverable_usd FROM partition_hour GROUP BY hour ORDER BY hour
