-- opened_rows: the rows behind a figure (relation `opened`), largest first, at most $limit of them (NULL: all).
SELECT * FROM opened ORDER BY coalesce(of_amount, amount) DESC, amount DESC, 1, 2, 3 LIMIT $limit
