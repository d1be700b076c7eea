-- unbundled_partition_hour: by plan, recoverable dollars of each partition in each hour where node sizes are unknown: what
-- its attempts gave up of each resource x its rate.
SELECT plan, partition, hour, usd AS recoverable_usd FROM per_hour('given_up') WHERE plan IN ('high', 'expected')
