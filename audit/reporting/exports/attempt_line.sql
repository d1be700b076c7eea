-- attempt_line: what each attempt held of the slice in the window: one line an attempt, its dollars by bucket. Where
-- none of its use was measured, what was used, kept and recoverable of it is not known: NULL.
WITH held AS (
    SELECT cluster, job_id_raw, submit, min(from_s) AS from_s, max(to_s) AS to_s
    FROM held_allocation GROUP BY cluster, job_id_raw, submit
)
SELECT 'attempt' AS kind, 'Held by a job' AS description, a.job_id_raw AS resource_id, family.shown AS family,
    c.node_class, c.usd_per_hour, c.node_hours, coalesce(c.is_list, f.is_list) AS is_list, a.usd, h.from_s, h.to_s,
    account.shown AS account, who.shown AS user_name, a.partition, a.state, epoch(a.submit) AS submit_s,
    a.core_hours, a.gpu_hours, a.mem_gib_hours, a.lost_usd, a.not_measured_usd,
    CASE WHEN sorted.is_known THEN a.used_usd END AS used_usd,
    CASE WHEN sorted.is_known THEN a.kept_usd END AS kept_usd,
    CASE WHEN sorted.is_known THEN a.recoverable_usd END AS recoverable_usd
FROM attempt AS a
JOIN held AS h USING (cluster, job_id_raw, submit)
CROSS JOIN cost_file AS f
CROSS JOIN LATERAL (SELECT a.lost_cause IS NOT NULL OR a.measured_usd > 0 AS is_known) AS sorted
LEFT JOIN charged AS c USING (cluster, job_id_raw, submit)
LEFT JOIN shown_user AS who ON who.name = a.user_name
LEFT JOIN shown_text AS account ON account.name = a.account
LEFT JOIN shown_text AS family ON family.name = a.family
