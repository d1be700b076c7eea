"""A log of jobs as the back-test takes it, whatever file it came from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from audit.sizing.attempts import TARGETS, Attempts, Flags, Floats, Problem, problem

MODES = ("submit", "start")  # when an attempt is foreseen


class UnusableError(Exception):
    """A file holds nothing that can be scored: one line that says why."""


@dataclass(frozen=True)
class Trace:
    """Attempts of one log, and what they needed of the targets that it measured."""

    name: str
    kind: str
    problems: Callable[[str], Mapping[str, Problem]]
    """Of a mode: each target in the order in which it is foreseen."""
    users: tuple[str, ...]
    """The names behind the codes."""
    rows: Mapping[str, int]
    """What became of the lines of the file."""
    notes: Mapping[str, str] = field(default_factory=dict)
    true_needs: Callable[[str], Mapping[str, Floats]] = lambda _: {}
    """Of a mode: what attempts truly needed, row by row of the problem, where the log was generated."""


@dataclass(frozen=True)
class Needed:
    """What attempts needed of one target; NaN where not known."""

    need: Floats
    is_bound: Flags  # cut at it: the need is a lower bound
    asked: Floats


def ordered(attempts: Attempts, needed: Mapping[str, Needed]) -> Callable[[str], Mapping[str, Problem]]:
    """The problems of attempts that a file held, by mode."""

    def problems(mode: str) -> Mapping[str, Problem]:
        return {
            name: problem(
                TARGETS[name], attempts, part.need, is_bound=part.is_bound, asked=part.asked, at_start=mode == "start"
            )
            for name, part in needed.items()
        }

    return problems


def positive(values: Floats) -> Floats:
    """NaN for what is not above zero."""
    return np.where(values > 0, values, np.nan)
