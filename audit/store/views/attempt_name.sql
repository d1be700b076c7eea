-- attempt_name: every name a node may call an attempt by: its job id (which a requeue or a later year uses again) and
-- its SLUIDs, of all records of a resized one.
CREATE OR REPLACE TEMP VIEW attempt_name AS
SELECT DISTINCT cluster, unnest([job_id_raw, sluid, original_sluid]) AS name, job_id_raw, submit
FROM (
    SELECT r.cluster, r.job_id_raw, coalesce(z.submit, r.submit) AS submit, r.sluid, r.original_sluid
    FROM job_record AS r
    LEFT JOIN resized AS z
        ON z.cluster = r.cluster AND z.job_id_raw = r.job_id_raw AND z.record_submit = r.submit
    WHERE NOT r.superseded AND r.start_time IS NOT NULL
);
