"""Made-up attempts for the tests of sizing."""

from dataclasses import replace

import numpy as np

from audit.sizing.attempts import TARGETS, Attempts, Floats, Problem, problem


def attempts(count: int, **columns: object) -> Attempts:
    """Attempts an hour apart, each ten minutes long, started as submitted, of one user and name; columns as given."""
    submit = 3600.0 * np.arange(count)
    unsaid, one = np.full(count, np.nan), np.zeros(count, dtype=np.int64)
    made = Attempts(
        submit_s=submit, start_s=submit, end_s=submit + 600, run_s=np.full(count, 600.0), user=one, name=one,
        partition=one, cores=unsaid, mem_bytes=unsaid, gpus=unsaid, limit_s=unsaid,
    )  # fmt: skip
    return replace(made, **{name: np.asarray(column) for name, column in columns.items()})


def busy(count: int, *, seed: int, at_start: bool = False) -> Problem:
    """Memory of many attempts in bursts, of eight users with three names each, which queue and overlap; some cut."""
    rng = np.random.default_rng(seed)
    user, name = rng.integers(0, 8, count), rng.integers(0, 3, count)
    submit = np.sort(np.repeat(rng.uniform(0, 200_000.0, (count + 3) // 4), 4)[:count])
    start = submit + rng.exponential(900.0, count)
    run = rng.exponential(3000.0, count) + 1
    need = 2.0**30 * np.exp(0.5 * user + 0.4 * name + rng.normal(0, 0.4, count))
    asked = 2.0**30 * np.exp(0.5 * user + rng.choice([1.0, 2.0], count))
    made = attempts(
        count, submit_s=submit, start_s=start, run_s=run, end_s=start + run, user=user, name=name, mem_bytes=asked,
        cores=rng.choice([1.0, 4.0], count),
    )  # fmt: skip
    cut = need > asked
    return problem(TARGETS["memory"], made, np.minimum(need, asked), is_bound=cut, asked=asked, at_start=at_start)


def unbounded(target: str, made: Attempts, need: Floats, asked: Floats | float = np.nan) -> Problem:
    """A problem of which nothing was cut."""
    wide = np.broadcast_to(np.asarray(asked, dtype=float), need.shape).copy()
    return problem(TARGETS[target], made, need, is_bound=np.zeros(len(need), dtype=bool), asked=wide)
