-- explain_unattributed: where telemetry saw one kind of what could be laid to no attempt ($name), by node.
SELECT node, max(example) AS example, CASE $measure WHEN 'nodes' THEN 1 WHEN 'intervals' THEN sum(intervals)
        ELSE sum(hours) END AS amount, CAST(NULL AS DOUBLE) AS of_amount
FROM unattributed WHERE kind = $name GROUP BY cluster, node
