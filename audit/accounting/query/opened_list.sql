-- opened_list: the attempts of one row of a list of the report ($by: the list; $name: the row, of a family within
-- $account), or all of them. given_up_usd: what they gave up of the resource of that name.
SELECT *, CASE $name WHEN 'gpus' THEN gpu_recoverable_usd WHEN 'memory' THEN mem_recoverable_usd
        WHEN 'cores' THEN core_recoverable_usd END AS given_up_usd
FROM attempt
WHERE CASE $by
    WHEN 'lost' THEN lost_cause = $name
    WHEN 'by_partition' THEN partition IS NOT DISTINCT FROM $name
    WHEN 'gpus.never_touched' THEN partition IS NOT DISTINCT FROM $name
    WHEN 'accounts' THEN account IS NOT DISTINCT FROM $name
    WHEN 'users' THEN user_name IS NOT DISTINCT FROM $name
    WHEN 'families' THEN family = $name AND account IS NOT DISTINCT FROM $account
    ELSE true END
