-- node_rerun: by plan, what running killed attempts once more would cost, and since when they held that (epoch seconds).
SELECT plan, from_s, again_hours * usd_per_hour AS usd FROM won_share WHERE again_hours > 0
