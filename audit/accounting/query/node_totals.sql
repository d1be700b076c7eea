-- node_totals: hours and dollars of the slice's nodes; down is NULL where it was not measured.
SELECT total(installed_hours * cores) AS installed_core, total(down_hours * cores) AS down_core,
    total(installed_hours * gpus) AS installed_gpu, total(down_hours * gpus) AS down_gpu,
    total(installed_hours * mem_bytes / 1073741824) AS installed_mem_gib,
    total(down_hours * mem_bytes / 1073741824) AS down_mem_gib,
    total(installed_hours * usd_per_hour) AS installed_usd, total(down_hours * usd_per_hour) AS down_usd,
    total(reserved_hours * usd_per_hour) AS reserved_usd
FROM node_hours
