-- reject: a record that could not be read, and a step whose attempt is in no file, so that nothing is dropped
-- without a word.
CREATE OR REPLACE TEMP VIEW reject AS
SELECT f.name AS file, r.line, r.reason, r.text
FROM (
    SELECT file_id, line, reason, text FROM reject_record
    UNION ALL
    SELECT file_id, line, 'a step whose attempt is in no file' AS reason, job_id_raw || '.' || step_id AS text
    FROM step_record WHERE submit IS NULL
) AS r
JOIN evidence_file AS f ON f.file_id = r.file_id;
