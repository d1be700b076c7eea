"""What the scheduler is given and what it gives back."""

from collections.abc import Sequence
from dataclasses import dataclass, field

NATURAL, NODE_FAIL, PREEMPTED, REQUEUED, WITHDRAWN, RUNNING, PENDING = range(7)


@dataclass(frozen=True)
class Shape:
    """What a job needs of each of its nodes; `partner` is the second component of a heterogeneous job."""

    node_class: int
    nodes: int
    cores: int
    mem_mib: int
    gpus: int
    preemptible: bool
    partner: "Shape | None" = None


@dataclass(frozen=True)
class Work:
    """The jobs to place, one entry a job; times are epochs or seconds, `inf` where it does not happen."""

    shapes: Sequence[Shape]
    shape: Sequence[int]
    submit: Sequence[int]  # -1: submitted by what it follows
    follows: Sequence[int]  # the job whose end releases this one; -1: none
    only_after_natural: Sequence[bool]  # a second try: only if what it follows ended by itself
    delay_s: Sequence[int]  # from that end to this submission
    inherits_submit: Sequence[bool]  # a throttled array task: submitted with its array, eligible later
    hold_s: Sequence[int]  # run time of an attempt that nothing cuts short
    limit_s: Sequence[int]
    withdraw_s: Sequence[float]  # how long it waits before its user gives up
    requeue_s: Sequence[float]  # the first attempt is requeued by hand after so long
    requeues: Sequence[bool]  # after a node failure
    array_submit: Sequence[int]


@dataclass
class Attempts:
    """One entry an attempt, in order of decision. `gpus` are the indices held on each of `nodes`."""

    job: list[int] = field(default_factory=list)
    submit: list[int] = field(default_factory=list)
    eligible: list[int] = field(default_factory=list)
    start: list[int] = field(default_factory=list)  # -1: never
    end: list[int] = field(default_factory=list)  # -1: not by the horizon
    why: list[int] = field(default_factory=list)
    nodes: list[tuple[int, ...]] = field(default_factory=list)
    gpus: list[tuple[tuple[int, ...], ...]] = field(default_factory=list)

    def add(self, job: int, times: tuple[int, int, int, int], why: int) -> int:
        """Appends an attempt that holds nothing yet; gives its number."""
        self.job.append(job)
        self.submit.append(times[0])
        self.eligible.append(times[1])
        self.start.append(times[2])
        self.end.append(times[3])
        self.why.append(why)
        self.nodes.append(())
        self.gpus.append(())
        return len(self.job) - 1
