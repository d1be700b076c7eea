-- over_size: attempts that held more than all their nodes have, as their sizes are stated, and one such node.
SELECT count(DISTINCT (cluster, job_id_raw, submit)) AS attempts, min(node) AS node
FROM (
    SELECT cluster, job_id_raw, submit, span_no, min(node) AS node
    FROM even_split
    WHERE node_cores IS NOT NULL OR node_mem_bytes IS NOT NULL
    GROUP BY cluster, job_id_raw, submit, span_no
    HAVING sum(cores) > sum(node_cores) * 1.000001 OR sum(mem_bytes) > sum(node_mem_bytes) * 1.000001
        OR sum(gpus) > sum(node_gpus) * 1.000001
) AS span_over
