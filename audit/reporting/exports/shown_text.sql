-- shown_text: the accounts and families in cost.csv; each is shown with the users in it as pseudonyms.
SELECT account AS name FROM attempt WHERE account IS NOT NULL UNION SELECT family FROM attempt
