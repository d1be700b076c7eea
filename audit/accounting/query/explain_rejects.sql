-- explain_rejects: the records that could not be read, or those for one reason ($name).
SELECT file, line, reason, text, 1 AS amount, CAST(NULL AS DOUBLE) AS of_amount
FROM reject WHERE $by = '' OR reason = $name
