-- partitions: every partition that a node is in or a job was submitted to.
SELECT DISTINCT partition FROM (
    SELECT unnest(string_split(partitions, ',')) AS partition FROM node
    UNION ALL
    SELECT unnest(string_split(partition, ',')) FROM job
) AS named WHERE partition IS NOT NULL AND partition <> '' ORDER BY partition
