-- advice: what the model would have advised an attempt before it started at policy.quantile, by which expected is reckoned.
SELECT r.* FROM recommendation AS r JOIN plan AS p ON p.quantile = r.quantile AND p.plan = 'expected'
