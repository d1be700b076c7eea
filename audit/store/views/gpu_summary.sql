-- gpu_summary: what accounting's comments say of one GPU (or, with gpu NULL, of the attempt on one node).
CREATE OR REPLACE TEMP VIEW gpu_summary AS
SELECT DISTINCT ON (g.cluster, g.job_id_raw, g.submit, g.node, g.gpu)
    g.cluster, g.job_id_raw, coalesce(z.submit, g.submit) AS submit, g.node, g.gpu, g.gpu_util,
    g.gpu_mem_bytes, g.gpu_total_bytes, g.node_mem_bytes, g.node_cpu_s
FROM gpu_record AS g
LEFT JOIN resized AS z
    ON z.cluster = g.cluster AND z.job_id_raw = g.job_id_raw AND z.record_submit = g.submit
ORDER BY g.cluster, g.job_id_raw, g.submit, g.node, g.gpu,
    g.gpu_mem_bytes DESC NULLS LAST, g.gpu_util DESC NULLS LAST, g.node_mem_bytes DESC NULLS LAST;
