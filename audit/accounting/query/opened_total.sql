-- opened_total: how many rows stand behind a figure (relation `opened`), and what they come to.
SELECT count(*) AS "rows", coalesce(total(amount), 0) AS total, total(of_amount) AS of_total FROM opened
