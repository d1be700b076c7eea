-- waiting_hour: what the requests of each partition that were eligible and waiting in an hour would have cost in it.
SELECT partition, hour, usd AS waiting_usd FROM per_hour('queued')
