-- explain_gaps: the gaps of the nodes of the slice, each one.
SELECT node, make_timestamp(CAST(from_s * 1e6 AS BIGINT)) AS "from", make_timestamp(CAST(to_s * 1e6 AS BIGINT)) AS "to",
    reason, 1 AS amount, CAST(NULL AS DOUBLE) AS of_amount
FROM telemetry_gap
