-- node_totals: hours and dollars of the slice's nodes; down is NULL where it was not measured.
SELECT sum(installed_hours * cores) AS installed_core, sum(down_hours * cores) AS down_core,
    sum(installed_hours * gpus) AS installed_gpu, sum(down_hours * gpus) AS down_gpu,
    sum(installed_hours * mem_bytes / 1073741824) AS installed_mem_gib,
    sum(down_hours * mem_bytes / 1073741824) AS down_mem_gib,
    sum(installed_hours * usd_per_hour) AS installed_usd, sum(down_hours * usd_per_hour) AS down_usd,
    sum(reserved_hours * usd_per_hour) AS reserved_usd
FROM node_hours
