-- telemetry_memory: attempts whose peak memory both telemetry and accounting tell: the median of each, of the part by
-- which accounting's lies below the cgroup's, and how many peaked more than 5 % above what accounting tells. only_cgroup:
-- attempts that telemetry alone measured.
SELECT count(mem_accounting_bytes) AS attempts, count(*) - count(mem_accounting_bytes) AS only_cgroup_attempts,
    quantile_disc(CASE WHEN mem_accounting_bytes IS NOT NULL THEN mem_used_bytes END, 0.5) AS cgroup_p50_bytes,
    quantile_disc(mem_accounting_bytes, 0.5) AS accounting_p50_bytes,
    quantile_disc(1 - mem_accounting_bytes / nullif(mem_used_bytes, 0), 0.5) AS lower_p50_share,
    count(CASE WHEN mem_used_bytes > 1.05 * mem_accounting_bytes THEN 1 END) AS missed_attempts
FROM attempt WHERE mem_source = 'cgroup' AND mem_used_bytes IS NOT NULL
