-- explain_collectors: the nodes of the slice with what collectors watched of each, or what these cost there ($measure). A
-- share over all nodes is weighed with the time watched.
SELECT node, gaps, gap_reason, amount, CASE WHEN amount IS NOT NULL THEN of_amount END AS of_amount
FROM (
    SELECT c.node, c.gaps, c.gap_reason,
        CASE $measure WHEN 'nodes' THEN 1 WHEN 'watched_nodes' THEN CAST(c.watched_s > 0 AS INTEGER)
            WHEN 'watched' THEN c.watched_s / 3600 WHEN 'window' THEN c.window_s / 3600
            WHEN 'told' THEN CAST(o.node IS NOT NULL AS INTEGER) WHEN 'cpu' THEN o.cpu_share * c.watched_s
            WHEN 'cpu_share' THEN o.cpu_share WHEN 'rss' THEN o.rss_bytes_max
            WHEN 'written' THEN o.written_bytes_per_day * c.watched_s / 86400
            WHEN 'written_bytes_per_day' THEN o.written_bytes_per_day WHEN 'missed' THEN o.missed
            WHEN 'late' THEN o.late_max_s END AS amount,
        CASE $measure WHEN 'watched' THEN CASE WHEN $zeros THEN c.window_s / 3600 END WHEN 'cpu' THEN c.watched_s
            WHEN 'written' THEN c.watched_s / 86400 END AS of_amount
    FROM telemetry_coverage AS c LEFT JOIN collector_overhead AS o USING (cluster, node)
    WHERE EXISTS (SELECT 1 FROM sample_interval)
) AS by_node
WHERE amount <> 0 OR (amount = 0 AND $zeros)
