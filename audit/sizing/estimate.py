"""What a submission should ask for, component by component: `audit estimate`, from a cold start.

Only numpy and the model files are read: no store, no library that fits models.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from audit.errors import UsageError
from audit.sizing.advised import Bounds, kept_because
from audit.sizing.attempts import LEVELS, TARGETS
from audit.sizing.estimate_warnings import component_warnings, model_warnings
from audit.sizing.foreseen import Chance, Foreseen, foresee, from_others, joint
from audit.sizing.histories import Job
from audit.sizing.identity import family
from audit.sizing.model_set import TargetModel, load_model
from audit.sizing.policy import POLICY
from audit.sizing.prior_model import Prior, load_prior
from audit.sizing.run_prices import NOT_THERE, RunPrices, read_prices
from audit.sizing.serving import Forecast, asked_of, levels_at
from audit.submission import Request, Submission, advised_options

OF_GPUS: Final = frozenset({"gpus", "vram", "gpu_activity"})


@dataclass(frozen=True)
class SitePolicy:
    """What `audit.toml` says of requests."""

    quantile: float
    mem_step_bytes: float
    whole_node_partitions: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """How advice is wanted: at a quantile, or at a risk shared by all whose limit kills; None: as trained."""

    quantile: float | None = None
    risk: float | None = None
    time_limit: bool = False  # advise a time limit too
    at_s: float = 0.0  # when the job is submitted, epoch seconds
    policy: SitePolicy | None = None  # of audit.toml as it stands; None: as it stood when the models were trained


@dataclass(frozen=True)
class Component:
    """A component of a submission with what is foreseen of it. Dollars are of one run (of one array task)."""

    request: Request
    resources: tuple[Foreseen, ...]
    run_s: float | None  # the median that is foreseen, at most the time limit
    saved_usd: float | None
    saved_reason: str | None
    warnings: tuple[str, ...]
    options: tuple[str, ...]

    @property
    def is_advised(self) -> bool:
        """Whether anything of the request was confirmed or changed."""
        return any(resource.is_advised for resource in self.resources)

    @property
    def risks(self) -> list[Chance]:
        """Of each limit that kills and is advised, how likely it is too low."""
        return [resource.risk for resource in self.resources if resource.risk]


@dataclass(frozen=True)
class Estimate:
    """An answer. `risk`: how likely any advised limit that kills is too low; None where that is not known."""

    submission: Submission
    components: tuple[Component, ...]
    level: float
    risk: Chance | None
    shared_by: int  # limits that kill and are advised, which share the risk
    is_one_job: bool  # components that end together: they share the risk
    models: Mapping[str, TargetModel]
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Models:
    """All that answers: the cluster's own models, those of other clusters where it has none, and prices."""

    own: Mapping[str, TargetModel]
    others: Mapping[str, Prior]
    prices: RunPrices | None

    @classmethod
    def load(cls, folder: Path, targets: frozenset[str] = frozenset(TARGETS)) -> "Models":
        """The models of a folder, as far as they are wanted. AuditError where one is damaged."""
        wanted = [name for name in TARGETS if name in targets]
        own = {name: model for name in wanted if (model := load_model(folder, name))}
        others = {name: prior for name in wanted if name not in own and (prior := load_prior(name))}
        return cls(own, others, read_prices(folder))


def targets_of(submission: Submission) -> frozenset[str]:
    """The targets that a submission is about."""
    with_gpus = any(request.gpus or request.gpus is None for request in submission.requests)
    return frozenset(TARGETS) if with_gpus else frozenset(TARGETS) - OF_GPUS


def estimate(submission: Submission, models: Models, question: Question) -> Estimate:
    """What is foreseen and advised. UsageError where a risk is asked for that no level reaches."""
    jobs = [_foreseen(request, models, question) for request in submission.requests]
    killing = [_killing(job) for job in jobs]
    is_one_job = submission.source == "script"
    shared_by = max(1, sum(killing) if is_one_job else max(killing, default=1))
    level = _level(models, question, shared_by)
    found = [_component(job, models, level) for job in jobs]
    return Estimate(
        submission=submission,
        components=tuple(found),
        level=level,
        risk=_risk([component.risks for component in found], is_one_job),
        shared_by=shared_by,
        is_one_job=is_one_job,
        models=models.own,
        warnings=(*submission.warnings, *model_warnings(models.own, bool(models.others), question.at_s)),
    )


@dataclass(frozen=True)
class _Job:
    """A component with what the cluster's own models say of it, and what bounds advice on each resource."""

    request: Request
    job: Job
    own: Mapping[str, tuple[Forecast, float | None, Bounds]]


def _foreseen(request: Request, models: Models, question: Question) -> _Job:
    job = _job(request, question.at_s)
    own = {
        name: (model.served.forecast(job), _plain(asked_of(TARGETS[name], job)), _bounds(request, model, question))
        for name, model in models.own.items()
        if _concerns(request, name)
    }
    return _Job(request, job, own)


def _concerns(request: Request, target: str) -> bool:
    return target not in OF_GPUS or request.gpus is None or request.gpus > 0


def _bounds(request: Request, model: TargetModel, question: Question) -> Bounds:
    return Bounds(
        nodes=request.nodes or 1,
        mem_step_bytes=question.policy.mem_step_bytes if question.policy else model.facts.mem_step_bytes,
        lowers_cores=model.facts.lowers_cores,
        lowers_time_limit=question.time_limit,
        whole_nodes=request.exclusive or request.whole_node_mem or _is_whole(request, question.policy),
    )


def _killing(job: _Job) -> int:
    """How many resources are advised that end a job which needs more."""
    return sum(TARGETS[name].kills and kept_because(*said) is None for name, said in job.own.items())


def _risk(risks: list[list[Chance]], is_one_job: bool) -> Chance | None:
    """Of one job that any of its limits is too low; of several, of the one that is worst off."""
    each = [joint([chance for of in risks for chance in of])] if is_one_job else [joint(of) for of in risks if of]
    known = [chance for chance in each if chance]
    return max(known, key=lambda chance: chance.share) if known and len(known) == len(each) else None


def _level(models: Models, question: Question, shared_by: int) -> float:
    """The level that is advised at: the next one that is calibrated, at or above what is asked for."""
    if question.risk is not None:
        least, asked = 1 - question.risk / shared_by, f"--risk {question.risk:g} over {shared_by} resources"
    elif question.quantile is not None:
        least, asked = question.quantile, f"--quantile {question.quantile:g}"
    else:
        trained = max((model.facts.quantile for model in models.own.values()), default=POLICY.level)
        least = question.policy.quantile if question.policy else trained
        asked = "policy.quantile in audit.toml"
    level = levels_at(LEVELS, least)
    if level is None:
        risk = round(shared_by * (1 - LEVELS[-1]), 6)  # argparse takes 0.5 at most
        raise UsageError(
            f"{asked} asks for p{100 * least:.6g}, and nothing above p{100 * LEVELS[-1]:g} is calibrated",
            remedy=f"give --quantile {LEVELS[-1]:g} or less"
            + (f", or --risk {risk:.6g} or more" if risk <= 0.5 else ""),
        )
    return level


def _job(request: Request, at_s: float) -> Job:
    return Job(
        user=request.user or "",
        account=request.account,
        family=family(request.job_name or ""),
        partition=(request.partition or "").partition(",")[0],
        cores=_number(request.cores),
        mem_bytes=_number(request.mem_bytes),
        gpus=_number(request.gpus),
        limit_s=_number(request.time_limit_s),
        decided_s=at_s,
    )


def _component(found: _Job, models: Models, level: float) -> Component:
    resources, request, job = [], found.request, found.job
    for name, target in TARGETS.items():
        if own := found.own.get(name):
            forecast, asked, bounds = own
            resources.append(foresee(forecast, asked, level, bounds))
            continue
        asked = _plain(asked_of(target, job))
        if (other := models.others.get(name)) and asked is not None and _concerns(request, name):
            said = np.array([[job.cores, job.mem_bytes, job.gpus, job.limit_s]])
            resources.append(from_others(name, other.needs(target, asked, said), asked, level))
    by_name = {resource.target.name: resource for resource in resources}
    run_s = _run_s(by_name.get("walltime"))
    saved, reason = _saved(request, by_name, run_s, models.prices)
    return Component(
        request=request,
        resources=tuple(resources),
        run_s=run_s,
        saved_usd=saved,
        saved_reason=reason,
        warnings=component_warnings(by_name),
        options=_options(request, by_name),
    )


def _is_whole(request: Request, policy: SitePolicy | None) -> bool:
    """Whether a partition that it may run in hands out whole nodes."""
    named = set((request.partition or "").split(","))
    return policy is not None and not named.isdisjoint(policy.whole_node_partitions)


def _options(request: Request, by_name: Mapping[str, Foreseen]) -> tuple[str, ...]:
    def told(name: str) -> float | None:
        resource = by_name.get(name)
        return None if resource is None or resource.recommended == resource.asked else resource.recommended

    return tuple(
        advised_options(
            request,
            mem_bytes=told("memory"),
            cores=told("cores"),
            gpus=told("gpus"),
            time_limit_s=told("walltime"),
        )
    )


def _run_s(walltime: Foreseen | None) -> float | None:
    if walltime is None or not walltime.needs or walltime.forecast is None:
        return None
    return min(walltime.needs[0.5], math.inf if walltime.asked is None else walltime.asked)


def _saved(
    request: Request, by_name: Mapping[str, Foreseen], run_s: float | None, prices: RunPrices | None
) -> tuple[float | None, str | None]:
    """Dollars that one run would save: what is given up x the price of it x how long it runs, in the median."""
    given = {name: by_name[name].given_up if name in by_name else 0.0 for name in ("cores", "memory", "gpus")}
    if not any(given.values()):
        return (
            (0.0, None) if any(resource.is_advised for resource in by_name.values()) else (None, "nothing is advised")
        )
    if run_s is None:
        return None, "how long it runs is not foreseen"
    if prices is None:
        return None, NOT_THERE
    return prices.saved_usd(
        cores=given["cores"],
        mem_bytes=given["memory"],
        gpus=given["gpus"],
        gpu_type=request.gpu_type,
        run_s=run_s,
    )


def _number(amount: float | None) -> float:
    return math.nan if amount is None else float(amount)


def _plain(amount: float) -> float | None:
    return amount if math.isfinite(amount) else None
