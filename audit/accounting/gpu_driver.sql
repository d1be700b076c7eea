-- gpu_driver: what the driver itself takes of a card's memory, by the summaries that accounting carries: the
-- least that attempts left there, if it is at most 1 GiB and two attempts left the same, within 64 MiB, so that
-- it is not one attempt's own. Cards without such a pair have no row: the driver is taken to need nothing.
WITH ranked AS (
    SELECT cluster, node, gpu, gpu_mem_bytes, row_number() OVER by_size AS nth,
        lead(gpu_mem_bytes) OVER by_size AS next_bytes
    FROM gpu_summary WHERE gpu IS NOT NULL AND gpu_mem_bytes IS NOT NULL
    WINDOW by_size AS (PARTITION BY cluster, node, gpu ORDER BY gpu_mem_bytes)
)
SELECT cluster, node, gpu, gpu_mem_bytes AS driver_bytes FROM ranked
WHERE nth = 1 AND gpu_mem_bytes <= 1073741824 AND next_bytes <= gpu_mem_bytes + 67108864
