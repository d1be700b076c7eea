-- line: the lines of cost.csv before they are spelt: attempts, and what no job held.
SELECT * FROM attempt_line UNION ALL BY NAME SELECT * FROM unheld_line
