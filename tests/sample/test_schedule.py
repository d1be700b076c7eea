"""The scheduler on a cluster small enough to follow by hand."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st

from audit.sample.cluster import build
from audit.sample.outages import Outage
from audit.sample.schedule import place
from audit.sample.work import (
    NATURAL,
    NODE_FAIL,
    PENDING,
    PREEMPTED,
    REQUEUED,
    RUNNING,
    WITHDRAWN,
    Attempts,
    Shape,
    Work,
)

CLUSTER = build(1)  # one node of 16 cores, 94,000 MiB and a T4; four CPU nodes
CARD = Shape(0, 1, 4, 1000, 1, preemptible=False)
SMALL = Shape(0, 1, 2, 1000, 1, preemptible=False)
SPARE = Shape(0, 1, 4, 1000, 1, preemptible=True)
WIDE = Shape(1, 2, 64, 1000, 0, preemptible=False)
HALF = Shape(1, 1, 32, 1000, 0, preemptible=False)


@dataclass
class Job:
    """A job with everything that seldom happens switched off."""

    shape: Shape
    submit: int
    hold_s: int
    limit_s: int = 1000
    follows: int = -1
    second_try: bool = False
    delay_s: int = 0
    withdraw_s: float = inf
    requeue_s: float = inf
    requeues: bool = True


def schedule(jobs: Sequence[Job], outages: Sequence[Outage], horizon: int) -> Attempts:
    shapes = list(dict.fromkeys(job.shape for job in jobs))
    work = Work(
        shapes=shapes,
        shape=[shapes.index(job.shape) for job in jobs],
        submit=[job.submit for job in jobs],
        follows=[job.follows for job in jobs],
        only_after_natural=[job.second_try for job in jobs],
        delay_s=[job.delay_s for job in jobs],
        inherits_submit=[False] * len(jobs),
        hold_s=[job.hold_s for job in jobs],
        limit_s=[job.limit_s for job in jobs],
        withdraw_s=[job.withdraw_s for job in jobs],
        requeue_s=[job.requeue_s for job in jobs],
        requeues=[job.requeues for job in jobs],
        array_submit=[job.submit for job in jobs],
    )
    return place(CLUSTER, work, outages, horizon)


def run(*jobs: Job, outages: tuple[Outage, ...] = (), horizon: int = 100_000) -> list[tuple[int, int, int, int]]:
    """(job, start, end, why) of every attempt."""
    attempts = schedule(jobs, outages, horizon)
    return list(zip(attempts.job, attempts.start, attempts.end, attempts.why, strict=True))


def test_a_job_waits_until_what_it_needs_is_free():
    assert run(Job(CARD, 10, 100), Job(CARD, 20, 50)) == [(0, 10, 110, NATURAL), (1, 110, 160, NATURAL)]


def test_a_short_job_passes_a_long_one_that_waits():
    queue = run(Job(CARD, 10, 100), Job(CARD, 20, 500, limit_s=900), Job(SMALL, 30, 50, limit_s=60))
    assert [job for job, *_ in queue] == [0, 2, 1]


def test_a_job_that_fits_starts_past_one_that_does_not():
    queue = run(*[Job(HALF, 1, 100)] * 7, Job(WIDE, 5, 10), Job(HALF, 6, 10))
    assert queue[7:] == [(8, 6, 16, NATURAL), (7, 101, 111, NATURAL)]


def test_what_runs_or_waits_at_the_horizon_is_left_so():
    queue = run(Job(CARD, 10, 100), Job(CARD, 20, 50), horizon=60)
    assert queue == [(0, 10, -1, RUNNING), (1, -1, -1, PENDING)]


def test_a_preemptible_job_makes_room_and_comes_back():
    queue = run(Job(SPARE, 10, 100), Job(CARD, 50, 30))
    # ended at 50, submitted again at 51, eligible two minutes later
    assert queue == [(0, 10, 50, PREEMPTED), (1, 50, 80, NATURAL), (0, 171, 271, NATURAL)]


def test_a_node_failure_ends_what_runs_and_nothing_starts_until_it_is_up():
    down = Outage(0, 60, 500, "DOWN*", "", "")
    assert run(Job(CARD, 10, 100), outages=(down,)) == [(0, 10, 60, NODE_FAIL), (0, 500, 600, NATURAL)]
    assert run(Job(CARD, 10, 100, requeues=False), outages=(down,)) == [(0, 10, 60, NODE_FAIL)]


def test_no_job_starts_that_might_run_into_maintenance():
    maintenance = Outage(0, 500, 900, "MAINT", "", "")
    queue = run(Job(CARD, 10, 100, limit_s=1000), Job(SMALL, 20, 100, limit_s=300), outages=(maintenance,))
    assert queue == [(1, 20, 120, NATURAL), (0, 900, 1000, NATURAL)]


def test_a_draining_node_finishes_what_it_has():
    drain = Outage(0, 60, 500, "DRAIN", "", "")
    queue = run(Job(CARD, 10, 100), Job(CARD, 20, 50), outages=(drain,))
    assert queue == [(0, 10, 110, NATURAL), (1, 500, 550, NATURAL)]


def test_a_job_requeued_by_hand_starts_over():
    assert run(Job(CARD, 10, 100, requeue_s=40)) == [(0, 10, 50, REQUEUED), (0, 171, 271, NATURAL)]


def test_a_user_gives_up_waiting():
    assert run(Job(CARD, 10, 100), Job(CARD, 20, 50, withdraw_s=30)) == [
        (0, 10, 110, NATURAL),
        (1, -1, 50, WITHDRAWN),
    ]


def test_a_second_try_comes_after_the_first_has_ended_by_itself():
    again = Job(CARD, -1, 20, follows=0, second_try=True, delay_s=5)
    assert run(Job(CARD, 10, 100), again) == [(0, 10, 110, NATURAL), (1, 115, 135, NATURAL)]
    down = Outage(0, 60, 500, "DOWN*", "", "")
    assert run(Job(CARD, 10, 100, requeues=False), again, outages=(down,)) == [(0, 10, 60, NODE_FAIL)]


def test_a_wide_job_does_not_starve():
    # every hour two more jobs of an hour and a half: without nodes kept free, four CPU nodes never empty
    stream = [Job(HALF, 1800 * n, 5400, limit_s=6000) for n in range(300) for _ in range(2)]
    queue = run(Job(WIDE, 7200, 600, limit_s=700), *stream, horizon=400_000)
    start = next(begun for job, begun, _, _ in queue if job == 0)
    assert start < 7200 + 3 * 3600 + 6000 + 300


def test_a_queue_that_everyone_has_left_is_open_to_the_next():
    jobs = [Job(CARD, 10, 100), Job(CARD, 20, 50, withdraw_s=30), Job(CARD, 120, 10), Job(SMALL, 121, 10)]
    assert run(*jobs)[2:] == [(2, 120, 130, NATURAL), (3, 130, 140, NATURAL)]


MATES = Shape(1, 1, 40, 1000, 0, preemptible=False, partner=HALF)
SOME_JOBS = st.builds(
    Job,
    shape=st.sampled_from([CARD, SMALL, SPARE, WIDE, HALF, MATES]),
    submit=st.integers(0, 9000),
    hold_s=st.integers(0, 900),
    limit_s=st.integers(900, 20_000),
    withdraw_s=st.one_of(st.just(inf), st.integers(0, 900).map(float)),
    requeue_s=st.one_of(st.just(inf), st.integers(0, 900).map(float)),
    requeues=st.booleans(),
)
SOME_OUTAGES = st.lists(
    st.builds(
        lambda node, start, length, state: Outage(node, start, start + length, state, "", ""),
        st.integers(0, 4),
        st.integers(0, 9000),
        st.integers(60, 4000),
        st.sampled_from(["DOWN*", "DRAIN", "MAINT"]),
    ),
    max_size=5,
    unique_by=lambda spell: spell.node,
)


@settings(max_examples=150, deadline=None)
@given(jobs=st.lists(SOME_JOBS, min_size=1, max_size=40), outages=SOME_OUTAGES)
def test_no_node_is_ever_promised_more_than_it_has_and_no_job_is_lost(jobs, outages):
    outages = sorted(outages, key=lambda spell: spell.start)
    attempts = schedule(jobs, outages, horizon=1_000_000)
    changes: list[tuple[int, int, int, int, int]] = []  # node, moment, then cores, cards and their sign
    for job, start, end, nodes, cards in zip(
        attempts.job, attempts.start, attempts.end, attempts.nodes, attempts.gpus, strict=True
    ):
        shape = jobs[job].shape
        for place_no, node in enumerate(nodes):
            part = shape.partner if shape.partner and place_no >= shape.nodes else shape
            assert len(set(cards[place_no])) == part.gpus
            changes += [(node, start, 1, part.cores, part.gpus), (node, end, -1, -part.cores, -part.gpus)]
    held_cores, held_cards = Counter(), Counter()
    for node, _, _, cores, cards in sorted(changes):
        held_cores[node] += cores
        held_cards[node] += cards
        size = CLUSTER.classes[CLUSTER.node_class[node]]
        assert held_cores[node] <= size.cores
        assert held_cards[node] <= size.gpus
    assert set(attempts.job) == set(range(len(jobs)))
    assert not {PENDING, RUNNING} & set(attempts.why)
