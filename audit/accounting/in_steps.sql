-- in_steps: an amount rounded up to whole steps, as requests are: whole cores and GPUs, memory in steps of
-- policy.mem_step_gib. What exceeds a whole number of steps by the rounding of a division only is that number.
ceil(amount / step - 1e-9) * step
