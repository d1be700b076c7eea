-- vram_bins: GPU-hours held, by card and by the largest memory peak of one of the attempt's GPUs in eighths of the card
-- (bin 0: up to one eighth; NULL: not measured). Cards whose memory is not known, and parts of cards, have no row.
SELECT c.card, c.mem_bytes, CASE WHEN a.vram_peak_bytes IS NOT NULL
        THEN CAST(least(7, floor(8.0 * a.vram_peak_bytes / c.mem_bytes)) AS INTEGER) END AS bin,
    total(a.gpu_hours) AS gpu_hours
FROM attempt AS a JOIN card AS c ON c.gres = coalesce(a.gres, '')
WHERE a.gpu_hours > 0 GROUP BY ALL ORDER BY c.card, bin
