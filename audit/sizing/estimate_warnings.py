"""What a submitter is told beside the advice: what is likely to go wrong, and how far the model can be trusted."""

from collections.abc import Mapping

from audit.sizing.amounts import shown
from audit.sizing.foreseen import Foreseen
from audit.sizing.model_set import STALE_DAYS, TargetModel
from audit.sizing.policy import POLICY

_DAY_S = 86_400.0


def component_warnings(by_name: Mapping[str, Foreseen]) -> tuple[str, ...]:
    """One line each."""
    found = [
        _too_low(by_name.get("memory"), "memory", "run out of memory"),
        _killed_before(by_name.get("memory")),
        _too_low(by_name.get("walltime"), "time limit", "run into it"),
        _never_used(by_name.get("gpus")),
    ]
    return tuple(line for line in found if line)


def _too_low(resource: Foreseen | None, name: str, end: str) -> str | None:
    """The request lies below what one in ten such jobs needs."""
    if resource is None or resource.chance is None or resource.forecast is None or resource.asked is None:
        return None
    if resource.forecast.like < POLICY.least_like or resource.asked >= resource.needs[0.9]:
        return None
    asked, p90 = (shown(resource.target, amount) for amount in (resource.asked, resource.needs[0.9]))
    chance = resource.chance
    odds = f"{chance.is_} {100 * chance.share:.0f} in 100 such jobs {end}"
    return f"the {name} asked for, {asked}, lies below p90 of the need, {p90}: {odds}"


def _killed_before(memory: Foreseen | None) -> str | None:
    """A job like it was killed at no less than what is asked for now."""
    if memory is None or memory.forecast is None or memory.asked is None:
        return None
    forecast = memory.forecast
    if memory.asked >= memory.known_least:
        return None
    since = "none got through since" if forecast.unproven else "others got through since"
    at, more = (shown(memory.target, amount) for amount in (forecast.killed_at, memory.known_least))
    return f"jobs of this user, name and about this size ran out of memory at {at}, and {since}: ask for {more} or more"


def _never_used(gpus: Foreseen | None) -> str | None:
    if gpus is None or gpus.forecast is None or gpus.forecast.like < POLICY.least_like:
        return None
    if gpus.forecast.most_like > gpus.target.floor:
        return None
    return f"no GPU was used by any of the last of {gpus.forecast.like} jobs like it: does it need one?"


def model_warnings(own: Mapping[str, TargetModel], others: bool, now_s: float) -> tuple[str, ...]:
    """What is odd about the models."""
    found = []
    if not own:
        found.append("there is no model of this cluster: run `audit train`" + (_OTHERS if others else ""))
    stale = [model for model in own.values() if model.facts.is_stale(now_s)]
    if stale:
        days = (now_s - min(model.facts.data_to_s for model in stale)) / _DAY_S
        old = f"the model knows nothing of the last {days:.0f} days (more than {STALE_DAYS})"
        found.append(f"{old}: ingest anew and run `audit train`")
    later = max((model.facts.data_to_s for model in own.values()), default=now_s)
    if now_s < later:
        found.append("the model knows what came later: it has seen jobs that ended after the time of --at")
    if any(model.facts.generated_sample for model in own.values()):
        found.append("generated sample: the model was fitted on a generated cluster, and says nothing of a real one")
    return tuple(found)


_OTHERS = "; what other clusters teach is shown, and the request is kept"
