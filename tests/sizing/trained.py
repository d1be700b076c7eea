"""Made-up clusters as a training takes them: problems, and the names behind their codes."""

from dataclasses import replace

import numpy as np

from audit.sizing.attempts import Floats, Problem
from audit.sizing.cases import Cases
from audit.sizing.histories import Job
from audit.sizing.identity import Names
from audit.sizing.train import Setting

USERS = [f"u{i}" for i in range(8)]
FAMILIES = ["chem/relax-#", "chem/run", "bio/align"]
NAMES = Names(USERS, FAMILIES, ["batch"])
SETTING = Setting(
    cluster="alpha", quantile=0.99, mem_step_bytes=2**30, generated_sample=False, evidence_sha256="0" * 64
)


def until(problem: Problem, row: int) -> Problem:
    """What there is of a problem at the decision of a row: later rows are not there, later ends have not come."""
    kept = slice(row + 1)
    attempts = problem.attempts.take(np.arange(row + 1))
    late = attempts.end_s > problem.decided_s[row]
    return Problem(
        problem.target,
        replace(attempts, end_s=np.where(late, np.inf, attempts.end_s)),
        problem.need[kept],
        problem.is_bound[kept],
        problem.asked[kept],
        problem.decided_s[kept],
        problem.rows[kept],
    )


def job(problem: Problem, row: int, pending: float = 0.0) -> Job:
    """A row as a job that is about to be submitted."""
    a = problem.attempts
    account, _, family = FAMILIES[a.name[row]].partition("/")
    amounts: list[Floats] = [a.cores, a.mem_bytes, a.gpus, a.limit_s]
    return Job(
        USERS[a.user[row]],
        account,
        family,
        "batch",
        *(float(amount[row]) for amount in amounts),
        decided_s=float(problem.decided_s[row]),
        pending=pending,
    )


def cases(**problems: Problem) -> Cases:
    """Cases of these problems."""
    return Cases(problems, {}, USERS, FAMILIES, ["batch"], lowers_cores=False)
