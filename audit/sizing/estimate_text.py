"""An estimate as a person reads it: a table and some lines a component. Names in it are as hostile as they came."""

from collections.abc import Iterator

from audit.sizing.amounts import clock, shown
from audit.sizing.estimate import Component, Estimate
from audit.sizing.foreseen import Foreseen

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
        killing = [r for r in component.resources if r.is_advised and r.target.kills]
        if killing:
            names = " or ".join(_name(resource) for resource in killing)
            together = (
                f" ({100 * found.risk:.3g} % over {found.shared_by} limits)" if found.risk and len(killing) > 1 else ""
            )
            yield f"risk: {100 * (1 - found.level):.3g} % of such jobs need more {names} than recommended{together}"
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
