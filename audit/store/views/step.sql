-- step: one step of an attempt, `.batch` and `.extern` included; submit is the attempt's.
CREATE OR REPLACE TEMP VIEW step AS
SELECT
    s.cluster, s.job_id_raw, coalesce(z.submit, s.submit) AS submit, s.step_id, s.state, s.exit_code,
    s.start_time, s.end_time, s.elapsed_s, s.node_count, s.node_list, s.tasks, s.alloc_cores,
    s.alloc_mem_bytes, s.max_rss_bytes, s.ave_rss_bytes, s.rss_bytes, s.cpu_s, s.read_bytes, s.write_bytes,
    s.gpu_util, s.gpu_mem_bytes
FROM step_record AS s
LEFT JOIN resized AS z
    ON z.cluster = s.cluster AND z.job_id_raw = s.job_id_raw AND z.record_submit = s.submit
WHERE NOT s.superseded AND s.submit IS NOT NULL;
