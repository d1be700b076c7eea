-- total: the sum of doubles to nine decimals each, exact: the same whichever thread adds what first.
CAST(sum(CAST(x AS DECIMAL(28, 9))) AS DOUBLE)
