-- opened_total: how many rows stand behind a figure, what they come to, and the points of them in order.
SELECT count(*) AS "rows", coalesce(sum(amount), 0) AS total, sum(of_amount) AS of_total,
    quantile_disc(amount, 0.1) AS p10, quantile_disc(amount, 0.5) AS p50, quantile_disc(amount, 0.9) AS p90
FROM opened
