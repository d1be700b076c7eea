-- unbundled_rerun: by plan, what running killed attempts once more would cost where node sizes are unknown, and since when
-- they held that (epoch seconds).
SELECT plan, from_s, again_usd_per_s * (to_s - from_s) AS usd FROM given_up WHERE again_usd_per_s > 0
