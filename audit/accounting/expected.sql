-- expected: what advice given before an attempt started, at policy.quantile, would have won back of it, and what it would
-- have broken: won of that plan.
SELECT * FROM won WHERE plan = 'expected'
