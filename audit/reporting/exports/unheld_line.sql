-- unheld_line: what no job held of the nodes of each class and price: idle, and down; one line of both where down was
-- not measured.
WITH class AS (
    SELECT node_class, usd_per_hour, total(installed_hours - held_hours) AS unheld_hours,
        total(down_hours) AS down_hours
    FROM node_hours GROUP BY node_class, usd_per_hour
), line AS (
    SELECT 'idle' AS kind, 'Held by no job' AS description, node_class, usd_per_hour,
        unheld_hours - down_hours AS node_hours FROM class WHERE down_hours IS NOT NULL
    UNION ALL
    SELECT 'down', 'Could not be held', node_class, usd_per_hour, down_hours FROM class WHERE down_hours IS NOT NULL
    UNION ALL
    SELECT 'idle or down', 'Held by no job, or could not be', node_class, usd_per_hour, unheld_hours FROM class
    WHERE down_hours IS NULL
)
SELECT line.*, b.is_list, line.node_hours * line.usd_per_hour AS usd, f.from_s, f.to_s
FROM line JOIN class_basis AS b USING (node_class) CROSS JOIN cost_file AS f
