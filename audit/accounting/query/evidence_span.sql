-- evidence_span: the window, and the time in which attempts of the evidence held something, as text.
SELECT strftime(w.from_time, '%Y-%m-%d %H:%M') || ' to ' || strftime(w.to_time, '%Y-%m-%d %H:%M') AS asked,
    strftime(s.first_time, '%Y-%m-%d %H:%M') || ' to ' || strftime(s.last_time, '%Y-%m-%d %H:%M') AS evidence,
    (SELECT coalesce(sum(other_cluster), 0) FROM evidence_file) AS other_cluster, (SELECT count(*) FROM slice_node) AS slice_nodes
FROM window_bounds AS w
CROSS JOIN (SELECT min(from_time) AS first_time, max(coalesce(to_time, from_time)) AS last_time FROM span) AS s
