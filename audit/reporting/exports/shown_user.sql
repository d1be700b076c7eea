-- shown_user: the users whose attempts are in cost.csv; each is shown as a pseudonym.
SELECT DISTINCT user_name AS name FROM attempt WHERE user_name IS NOT NULL
