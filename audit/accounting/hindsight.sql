-- hindsight: what an attempt should have asked for, known once it had ended: its own peaks, no margin, so a ceiling
-- for any advice that could have been given before. NULL where it keeps what it held: a resource that was not
-- measured, an attempt that failed or was cut (lost), a censored one, whose use is a bound on its need, and one that
-- asks too little of something. Cores are lowered only from the most in an interval of a minute or more.
SELECT u.cluster, u.job_id_raw, u.submit,
    CASE WHEN keeps.it THEN NULL ELSE u.cores_max END AS cores,
    CASE WHEN keeps.it THEN NULL ELSE u.mem_used_bytes END AS mem_bytes,
    CASE WHEN keeps.it THEN NULL ELSE u.gpus_used END AS gpus
FROM usage AS u
JOIN outcome AS o USING (cluster, job_id_raw, submit)
CROSS JOIN LATERAL (SELECT u.is_censored OR o.lost_cause IS NOT NULL OR u.asks_too_little AS it) AS keeps
