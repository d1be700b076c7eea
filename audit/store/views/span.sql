-- span: one stretch of an attempt with a constant allocation; several after a resize or a live memory
-- change. Only attempts that started. One that still ran when the dump was made is known to have held up to
-- then, by its elapsed time; to_time NULL where the dump does not tell that either.
CREATE OR REPLACE TEMP VIEW span AS
SELECT
    r.cluster, r.job_id_raw, coalesce(z.submit, r.submit) AS submit,
    coalesce(z.span_from, r.start_time) AS from_time,
    coalesce(
        r.end_time,
        r.start_time + to_seconds(nullif(r.elapsed_s, 0) + coalesce(r.suspended_s, 0))
    ) AS to_time,
    r.node_list, r.node_count, r.alloc_cores AS cores,
    coalesce(z.span_mem_bytes, r.alloc_mem_bytes) AS mem_bytes,
    r.alloc_gpus AS gpus, r.alloc_shards AS shards, r.alloc_gres AS gres, r.exclusive, r.partition
FROM job_record AS r
LEFT JOIN resized AS z
    ON z.cluster = r.cluster AND z.job_id_raw = r.job_id_raw AND z.record_submit = r.submit
WHERE NOT r.superseded AND r.start_time IS NOT NULL
    AND (r.end_time > r.start_time OR r.end_time IS NULL);
