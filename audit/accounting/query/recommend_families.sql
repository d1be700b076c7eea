-- recommend_families: families with most dollars that advice given before would have won back, less reruns, first. Of their
-- recent attempts: the median of what those held that were advised (of all, where none was) and of what was advised; where
-- that is less, how many of the measured ones needed more (above, of_recent). Of all: on how many the advice rests (ended
-- and measured), of how many it lowers something (tested, on so many days), kills, slows, abstains; and what was short.
WITH middle AS (
    SELECT family_no, quantile_disc(CASE WHEN mem_advised_bytes IS NOT NULL THEN held_mem_bytes END, 0.5) AS mem_lowered_bytes,
        quantile_disc(held_mem_bytes, 0.5) AS mem_held_bytes, quantile_disc(mem_advised_bytes, 0.5) AS mem_recommended_bytes,
        quantile_disc(CASE WHEN gpus_advised IS NOT NULL THEN held_gpus END, 0.5) AS gpus_lowered,
        quantile_disc(held_gpus, 0.5) AS gpus_held, quantile_disc(gpus_advised, 0.5) AS gpus_recommended,
        quantile_disc(CASE WHEN cores_advised IS NOT NULL THEN held_cores END, 0.5) AS cores_lowered,
        quantile_disc(held_cores, 0.5) AS cores_held, quantile_disc(cores_advised, 0.5) AS cores_recommended,
        quantile_disc(time_limit_s, 0.5) AS time_limit_asked_s, count(*) AS recent_attempts, min(nodes) AS nodes, max(nodes) AS most_nodes,
        bool_and(is_whole) AS is_whole
    FROM recommend_attempt WHERE is_recent GROUP BY family_no
), judged AS (
    SELECT a.*, m.* EXCLUDE (family_no, nodes, is_whole), m.nodes AS fewest_nodes, m.is_whole AS all_whole, e_gpu_usd + e_mem_usd + e_core_usd AS gross_usd,
        CASE WHEN a.is_recent AND a.has_ended AND a.mem_used_bytes IS NOT NULL AND mem_recommended_bytes < mem_lowered_bytes
            THEN least(a.mem_used_bytes, a.held_mem_bytes) > m.mem_recommended_bytes END AS is_above_mem,
        CASE WHEN a.is_recent AND a.has_ended AND a.gpus_used IS NOT NULL AND gpus_recommended < gpus_lowered
            THEN least(a.gpus_used, a.held_gpus) > m.gpus_recommended END AS is_above_gpus
    FROM recommend_attempt AS a JOIN middle AS m USING (family_no)
)
SELECT account, family, min(user_name) AS "user", count(DISTINCT user_name) AS users, min(partition) AS partition,
    count(DISTINCT partition) AS partitions, count(*) AS attempts, max(recent_attempts) AS recent_attempts, max(submit) AS last_submit,
    min(fewest_nodes) AS nodes, max(most_nodes) AS most_nodes, bool_and(all_whole) AS is_whole,
    coalesce(max(mem_lowered_bytes), max(mem_held_bytes)) AS mem_asked_bytes, max(mem_recommended_bytes) AS mem_recommended_bytes,
    coalesce(max(gpus_lowered), max(gpus_held)) AS gpus_asked, max(gpus_recommended) AS gpus_recommended,
    coalesce(max(cores_lowered), max(cores_held)) AS cores_asked, max(cores_recommended) AS cores_recommended,
    max(time_limit_asked_s) AS time_limit_asked_s, quantile_disc(walltime_s, 0.9) AS walltime_p90_s, total(usd) AS held_usd,
    CASE WHEN count(usd) > 0 THEN coalesce(total(gross_usd - e_reruns_usd), 0) END AS expected_usd,
    coalesce(total(e_gpu_usd), 0) AS gpus_gross_usd, coalesce(total(e_mem_usd), 0) AS memory_gross_usd,
    coalesce(total(e_core_usd), 0) AS cores_gross_usd, coalesce(total(e_reruns_usd), 0) AS reruns_usd,
    count(CASE WHEN has_ended AND (mem_source IS NOT NULL OR gpus_used IS NOT NULL) THEN 1 END) AS rests_on, count(is_killed) AS tested,
    count(DISTINCT CASE WHEN is_killed IS NOT NULL THEN CAST(submit AS DATE) END) AS tested_days, count(CASE WHEN is_killed THEN 1 END) AS killed,
    count(CASE WHEN is_slowed THEN 1 END) AS slowed, count(CASE WHEN is_abstained THEN 1 END) AS abstained,
    count(CASE WHEN is_above_mem OR is_above_gpus THEN 1 END) AS above, count(CASE WHEN is_above_mem THEN 1 END) AS memory_above,
    count(CASE WHEN is_above_gpus THEN 1 END) AS gpus_above, count(coalesce(is_above_mem, is_above_gpus)) AS of_recent,
    count(CASE WHEN ran_out THEN 1 END) AS out_of_memory, count(CASE WHEN ran_out OR is_above OR is_above_cores THEN 1 END) AS short,
    CASE WHEN count(usd) > 0 THEN coalesce(total(CASE WHEN ran_out THEN lost_usd END), 0) END AS lost_usd,
    quantile_disc(CASE WHEN mem_short_bytes IS NOT NULL THEN held_mem_bytes END, 0.5) AS mem_short_asked_bytes,
    quantile_disc(mem_short_bytes, 0.5) AS mem_short_bytes, quantile_disc(CASE WHEN cores_short IS NOT NULL THEN held_cores END, 0.5) AS cores_short_asked,
    quantile_disc(cores_short, 0.5) AS cores_short
FROM judged GROUP BY family_no, account, family ORDER BY expected_usd DESC NULLS LAST, held_usd DESC NULLS LAST, account, family, "user"
