-- node_state: one node's state over a span. The same event seen in two dumps is one row: an end that is
-- known beats one that is not. is_down: nothing new can start there (DOWN, FAIL, DRAIN, MAINT, powered down).
CREATE OR REPLACE TEMP VIEW node_state AS
SELECT
    cluster, node, from_time, max(to_time) AS to_time, max(state) AS state, max(reason) AS reason,
    regexp_matches(max(state), '(^|\+)(DOWN|FAIL|FAILING|ERROR|DRAIN|DRAINED|DRAINING|MAINT|POWERED_DOWN|POWERING_DOWN|POWER_DOWN)') AS is_down
FROM node_state_record
GROUP BY cluster, node, from_time;
