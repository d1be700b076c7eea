-- recommendation: what the model, replayed over the window in time order, would have advised an attempt before it started,
-- having learnt only from attempts that had ended by then: at each quantile one row, over all its nodes. NULL: it keeps
-- what it held, since the model abstained or has not learnt that resource.
WITH told AS (
    SELECT CAST(cluster AS VARCHAR) AS cluster, CAST(job_id_raw AS VARCHAR) AS job_id_raw, CAST(submit AS TIMESTAMP) AS submit,
        round(CAST(quantile AS DOUBLE), 6) AS quantile, coalesce(CAST(abstained AS BOOLEAN), true) AS abstained,
        CAST(cores AS DOUBLE) AS cores, CAST(mem_bytes AS DOUBLE) AS mem_bytes, CAST(gpus AS DOUBLE) AS gpus
    FROM read_parquet($replay)
)
SELECT cluster, job_id_raw, submit, quantile, bool_and(abstained) AS abstained,
    max(CASE WHEN NOT abstained AND isfinite(cores) AND cores >= 0 THEN cores END) AS cores,
    max(CASE WHEN NOT abstained AND isfinite(mem_bytes) AND mem_bytes >= 0 THEN mem_bytes END) AS mem_bytes,
    max(CASE WHEN NOT abstained AND isfinite(gpus) AND gpus >= 0 THEN gpus END) AS gpus
FROM told WHERE quantile IN (SELECT quantile FROM plan)
GROUP BY cluster, job_id_raw, submit, quantile
