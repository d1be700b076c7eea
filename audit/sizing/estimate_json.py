"""An estimate as JSON, as `estimate.schema.json` documents it."""

import math
from datetime import UTC, datetime
from typing import Any, Final

from audit.sizing.estimate import Component, Estimate, Question
from audit.sizing.foreseen import Foreseen

SCHEMA: Final = "audit-estimate/1"
_REQUEST: Final = ("user", "account", "job_name", "partition", "nodes", "array_tasks")


def as_json(found: Estimate, question: Question) -> dict[str, Any]:
    """The document; what is not known is null, with a reason beside it."""
    facts = [model.facts for model in found.models.values()]
    return {
        "schema": SCHEMA,
        "source": found.submission.source,
        "at": _time(question.at_s),
        "cluster": facts[0].cluster if facts else None,
        "generated_sample": any(each.generated_sample for each in facts),
        "model_made": _time(max(each.made_s for each in facts)) if facts else None,
        "model_data_to": _time(max(each.data_to_s for each in facts)) if facts else None,
        "level": found.level,
        "risk": found.risk.share if found.risk else None,
        "risk_is": found.risk.is_ if found.risk else None,
        "risk_shared_by": found.shared_by,
        "is_advised": any(component.is_advised for component in found.components),
        "components": [_component(component) for component in found.components],
        "warnings": list(found.warnings),
        "unknown_options": list(found.submission.unknown),
    }


def _component(component: Component) -> dict[str, Any]:
    return {
        **{name: getattr(component.request, name) for name in _REQUEST},
        "resources": [_resource(resource) for resource in component.resources],
        "expected_run_s": _plain(component.run_s),
        "saved_usd": _plain(component.saved_usd),
        "saved_usd_reason": component.saved_reason,
        "options": list(component.options),
        "warnings": list(component.warnings),
    }


def _resource(resource: Foreseen) -> dict[str, Any]:
    forecast, chance = resource.forecast, resource.chance
    return {
        "resource": resource.target.name,
        "unit": resource.target.unit,
        "asked": _plain(resource.asked),
        **{name: _plain(amount) for name, amount in resource.shown().items()},
        "recommended": _plain(resource.recommended),
        "level": resource.level,
        "kept_because": resource.kept_because,
        "model": "others" if forecast is None else "cluster",
        "expert": forecast.expert if forecast else None,
        "jobs_like_it": forecast.like if forecast else None,
        "jobs_of_user": forecast.like_user if forecast else None,
        "chance_of_needing_more": {"share": round(chance.share, 6), "is": chance.is_} if chance else None,
        "steps": [{"what": step.what, "amount": _plain(step.amount)} for step in resource.steps],
    }


def _plain(amount: float | None) -> float | None:
    return None if amount is None or not math.isfinite(amount) else amount


def _time(epoch_s: float) -> str:
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
