-- The same interval told twice: a segment fetched while it was still written, or packed anew. A boot's clock shows each
-- interval of a collector once, so that all but the first such go, with all that came in them.
CREATE OR REPLACE TEMP TABLE again AS
WITH twice AS (
    SELECT cluster, node, role, boot_id, mono_s, interval_s, min(file_id) AS first_id
    FROM sample_interval WHERE boot_id IS NOT NULL AND mono_s IS NOT NULL
    GROUP BY cluster, node, role, boot_id, mono_s, interval_s HAVING count(*) > 1
)
SELECT s.file_id, s.interval_no
FROM sample_interval AS s JOIN twice AS t USING (cluster, node, role, boot_id, mono_s, interval_s)
WHERE s.file_id > t.first_id;

DELETE FROM sample_interval AS s USING again AS a WHERE s.file_id = a.file_id AND s.interval_no = a.interval_no;
DELETE FROM sample_job AS s USING again AS a WHERE s.file_id = a.file_id AND s.interval_no = a.interval_no;
DELETE FROM sample_gpu AS s USING again AS a WHERE s.file_id = a.file_id AND s.interval_no = a.interval_no;
DELETE FROM sample_gpu_job AS s USING again AS a WHERE s.file_id = a.file_id AND s.interval_no = a.interval_no;
DELETE FROM sample_mig AS s USING again AS a WHERE s.file_id = a.file_id AND s.interval_no = a.interval_no;
DELETE FROM sample_node AS s USING again AS a WHERE s.file_id = a.file_id AND s.interval_no = a.interval_no;
DELETE FROM allocation_seen AS s USING again AS a WHERE s.file_id = a.file_id AND s.interval_no = a.interval_no;
DELETE FROM collector_event AS s USING again AS a WHERE s.file_id = a.file_id AND s.interval_no = a.interval_no;
DELETE FROM collector_gap AS s USING again AS a WHERE s.file_id = a.file_id AND s.interval_no = a.interval_no;
