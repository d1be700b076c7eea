-- telemetry_gaps: the 40 longest gaps of each node, in order of time.
SELECT node, from_s, to_s, reason FROM telemetry_gap
QUALIFY row_number() OVER (PARTITION BY cluster, node ORDER BY to_s - from_s DESC, from_s) <= 40
ORDER BY node, from_s
