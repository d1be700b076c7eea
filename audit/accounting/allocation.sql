-- allocation: one span of an attempt with a constant allocation on one node, at most the node's size: what
-- an even split would put on a node beyond its size goes to the span's other nodes, by the room they have.
-- Cores, memory and GPUs that accounting does not state are NULL. core_part, mem_part and gpu_part: the node's part
-- of what the span holds on all its nodes, since a need is spread over them as what is held is.
WITH room AS (
    SELECT *,
        greatest(cores - node_cores, 0) AS over_cores, greatest(node_cores - cores, 0) AS room_cores,
        greatest(mem_bytes - node_mem_bytes, 0) AS over_mem, greatest(node_mem_bytes - mem_bytes, 0) AS room_mem,
        greatest(gpus - node_gpus, 0) AS over_gpus, greatest(node_gpus - gpus, 0) AS room_gpus
    FROM even_split
), fill AS (
    SELECT *,
        least(1, coalesce(sum(over_cores) OVER each_span / nullif(sum(room_cores) OVER each_span, 0), 0)) AS fill_cores,
        least(1, coalesce(sum(over_mem) OVER each_span / nullif(sum(room_mem) OVER each_span, 0), 0)) AS fill_mem,
        least(1, coalesce(sum(over_gpus) OVER each_span / nullif(sum(room_gpus) OVER each_span, 0), 0)) AS fill_gpus
    FROM room WINDOW each_span AS (PARTITION BY span_no)
), placed AS (
    SELECT span_no, cluster, job_id_raw, submit, node, from_time, to_time, gres, exclusive, partition,
        cores - over_cores + room_cores * fill_cores AS cores,
        mem_bytes - over_mem + room_mem * fill_mem AS mem_bytes,
        gpus - over_gpus + room_gpus * fill_gpus AS gpus
    FROM fill
)
SELECT * EXCLUDE (span_no), cores / nullif(sum(cores) OVER each_span, 0) AS core_part,
    mem_bytes / nullif(sum(mem_bytes) OVER each_span, 0) AS mem_part,
    gpus / nullif(sum(gpus) OVER each_span, 0) AS gpu_part
FROM placed WINDOW each_span AS (PARTITION BY span_no)
