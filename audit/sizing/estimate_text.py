"""An estimate as a person reads it: a table and some lines a component. Names in it are as hostile as they came."""

from collections.abc import Iterator

from audit.sizing.amounts import clock, shown
from audit.sizing.estimate import Component, Estimate
from audit.sizing.foreseen import Chance, Foreseen, joint

_NAMES = {"walltime": "time", "gpus": "GPUs", "vram": "GPU memory", "gpu_activity": "GPU activity"}


def head(component: Component, place: int, of: int) -> str:
    """What the component is."""
    request = component.request
    told = [request.job_name or "a job without name", *([f"of {request.user}"] if request.user else [])]
    if request.array_tasks:
        told.append(f"(each of {request.array_tasks} array tasks)")
    return (f"component {place} of {of}: " if of > 1 else "") + " ".join(told)


def table(component: Component) -> list[dict[str, str]]:
    """A row a resource."""
    return [
        {
            "resource": _name(resource),
            "asked": shown(resource.target, resource.asked),
            **{name: shown(resource.target, amount) for name, amount in resource.shown().items()},
            "recommended": "as asked" if resource.recommended is None else shown(resource.target, resource.recommended),
        }
        for resource in component.resources
    ]


def lines(component: Component, found: Estimate) -> Iterator[str]:
    """What stands below the table: risk, dollars, why, warnings, and the options to type."""
    if component.is_advised:
        yield from _risk(component, found)
        yield f"saves: {_saved(component)}"
    for resource in component.resources:
        yield f"why, {_name(resource)}: {_why(resource)}"
    for warning in component.warnings:
        yield f"warning: {warning}"
    if component.options:
        yield f"sbatch {' '.join(component.options)}"
    elif component.is_advised:
        yield "the request is not lowered" if component.warnings else "the request is right as it is"
    else:
        yield "nothing is advised: the request is kept"


def explained(component: Component) -> Iterator[str]:
    """Each step from forecast to advice."""
    for resource in component.resources:
        for step in resource.steps:
            yield f"{_name(resource)}: {shown(resource.target, step.amount)}: {step.what}"


def _risk(component: Component, found: Estimate) -> Iterator[str]:
    """How likely each advised limit is too low, and any of the job's; a bound that is above 1 is not told."""
    for resource in component.resources:
        if resource.risk:
            yield f"risk: {_odds(resource.risk)} of such jobs need more {_name(resource)} than recommended"
    risk, limits = (found.risk, found.shared_by) if found.is_one_job else (joint(component.risks), len(component.risks))
    if risk and limits > 1:
        yield f"risk: {_odds(risk)} of such jobs meet any of {limits} limits that is too low"


def _odds(chance: Chance) -> str:
    return f"{chance.is_} {100 * chance.share:.3g} %"


def _name(resource: Foreseen) -> str:
    return _NAMES.get(resource.target.name, resource.target.name)


def _why(resource: Foreseen) -> str:
    forecast = resource.forecast
    if forecast is None:
        return f"{resource.kept_because}"
    like = f"{forecast.like} jobs of this user and name, {forecast.like_user} of this user; {forecast.expert}"
    return f"{like}; {resource.kept_because}" if resource.kept_because else like


def _saved(component: Component) -> str:
    if component.saved_usd is None:
        return f"dollars are not known: {component.saved_reason}"
    run = f", at {clock(component.run_s)} a run (the median)" if component.run_s is not None else ""
    tasks = component.request.array_tasks
    each = f" a task, {tasks} tasks" if tasks else " a run"
    return f"{component.saved_usd:,.2f} USD{each}{run}"
