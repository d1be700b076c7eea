-- evidence: the files that were read.
SELECT name, kind, sha256, records, attempts, steps, rejects, other_cluster, first_time, last_time
FROM evidence_file ORDER BY name, file_id
