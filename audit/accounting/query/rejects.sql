-- rejects: records that could not be read, by reason.
SELECT reason, count(*) AS "rows" FROM reject GROUP BY reason ORDER BY "rows" DESC, reason
