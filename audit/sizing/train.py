"""What `audit train` does: each target is played through, its model fitted anew, compared with the earlier, written."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np

from audit.errors import AuditError
from audit.sizing.attempts import LEVELS
from audit.sizing.backtest import document, too_few, write
from audit.sizing.calibration import SETTINGS
from audit.sizing.cases import Cases
from audit.sizing.identity import Names
from audit.sizing.model_set import Facts, TargetModel, earlier_model, guarded, remove_others, save_model
from audit.sizing.policy import POLICY
from audit.sizing.replay import Replay, replay
from audit.sizing.scores import score
from audit.sizing.training import Comparison, compare, kept, served, taken
from audit.sizing.waste import killed, waste

_LIBRARIES: Final = ("numpy", "scikit-learn", "lightgbm", "capacity-audit")

Watch = Callable[[str], None]


@dataclass(frozen=True)
class Setting:
    """What a training is told of the engagement."""

    cluster: str
    quantile: float
    mem_step_bytes: float
    generated_sample: bool
    evidence_sha256: str  # of the evidence files' own


@dataclass(frozen=True)
class Training:
    """What came of it: the models by target, the back-tests they rest on, and the targets that had too few attempts.

    `unreadable`: the targets whose earlier model could not be compared, since it cannot be read, and why.
    """

    models: Mapping[str, TargetModel]
    replays: Mapping[str, Replay]
    too_few: Mapping[str, int]  # by target: finished attempts of which it was measured
    unreadable: Mapping[str, str] = field(default_factory=dict)


def train(cases: Cases, setting: Setting, folder: Path, watch: Watch = lambda _: None) -> Training:
    """Writes a model for each target with enough attempts, and the scores of its back-test, into `folder`.

    NoReportError where no target has enough: nothing is written then, and the model of other clusters serves.
    """
    remedy = "measure longer or ingest more; until then `audit estimate` shows what other clusters teach"
    few = too_few(cases, (), "there is no model", remedy)
    models, replays, scores = {}, {}, []
    unreadable: dict[str, str] = {}
    names = Names(cases.users, cases.names, cases.partitions)
    for name, problem in cases.problems.items():
        if name in few:
            continue
        replayed = replay(problem, watch=lambda what, name=name: watch(f"{name}: {what}"))  # type: ignore[misc]
        watch(f"{name}: scoring")
        scores.append(score(replayed, cases.users))
        watch(f"{name}: fitting on all that is known")
        earlier, why_not = _earlier(replayed, names, setting, folder)
        if why_not:
            unreadable[name] = why_not
        models[name] = _model(replayed, names, cases, setting, scores[-1], earlier)
        replays[name] = _issued_only(replayed)
    for model in models.values():
        save_model(folder, model)
    remove_others(folder, set(models))
    write(document(scores, generated_sample=setting.generated_sample), folder)
    return Training(models, replays, few, unreadable)


Earlier = tuple[TargetModel, Comparison] | None


def _earlier(replayed: Replay, names: Names, setting: Setting, folder: Path) -> tuple[Earlier, str | None]:
    """The cluster's earlier model, judged; None where there is none, with the reason where it cannot be read."""
    earlier, why_not = earlier_model(folder, replayed.problem.target.name)
    if earlier is None or earlier.facts.cluster != setting.cluster:
        return None, why_not
    try:
        with guarded(folder):
            return (earlier, compare(earlier.served, earlier.facts.fitted_to_s, replayed, names)), None
    except AuditError as error:
        return None, error.what


def _model(
    replayed: Replay, names: Names, cases: Cases, setting: Setting, scored: Mapping[str, Any], before: Earlier
) -> TargetModel:
    new = served(replayed, names)
    earlier, judged = before or (None, Comparison())
    now_s, data_to_s = datetime.now(UTC).timestamp(), float(replayed.known.end_s[-1])
    facts = Facts(
        expert=new.expert,
        cluster=setting.cluster,
        made_s=now_s,
        fitted_to_s=data_to_s,
        data_to_s=data_to_s,
        quantile=setting.quantile,
        mem_step_bytes=setting.mem_step_bytes,
        lowers_cores=cases.lowers_cores,
        generated_sample=setting.generated_sample,
    )
    if earlier is not None and judged.keeps_earlier:
        then = earlier.facts
        facts = replace(facts, expert=then.expert, made_s=then.made_s, fitted_to_s=then.fitted_to_s)
        new = kept(earlier.served, new)
    return TargetModel(new, facts, _card(replayed, facts, setting, scored, judged))


def _card(
    replayed: Replay, facts: Facts, setting: Setting, scored: Mapping[str, Any], judged: Comparison
) -> dict[str, object]:
    """What a reader may want to know of a model; None where it is not known."""
    ranked = _ranked(replayed)
    champion = next((one for one in ranked if one["expert"] == facts.expert), None)
    return {
        "target": scored["target"],
        "unit": scored["unit"],
        "made": _time(facts.made_s),
        "fitted_to": _time(facts.fitted_to_s),
        "data_from": scored["from"],
        "data_to": _time(facts.data_to_s),
        **{key: scored[key] for key in ("attempts", "measured", "bounds", "scored", "users", "bursts")},
        "coverage": [{key: level[key] for key in ("level", "realised", "low", "high")} for level in scored["coverage"]],
        "champion": champion,
        "challenger": next((one for one in ranked if one is not champion), None),
        "earlier": {
            "attempts": judged.attempts,
            "pinball_earlier": judged.earlier if judged.attempts else None,
            "pinball_new": judged.new if judged.attempts else None,
            "kept": judged.keeps_earlier,
        },
        "generated_sample": setting.generated_sample,
        "evidence_sha256": setting.evidence_sha256,
        "settings": {"calibration": asdict(SETTINGS), "policy": asdict(POLICY)},
        "versions": {name: version(name) for name in _LIBRARIES},
    }


def _ranked(replayed: Replay) -> list[dict[str, object]]:
    """Every expert with what its advice would have cost on the later half of what has ended, the cheapest first.

    `waste` is in the target's unit x seconds.
    """
    problem = replayed.problem
    late = replayed.known.by_end[len(replayed.known.by_end) // 2 :]
    need, asked = problem.log_need[late], np.nan_to_num(problem.log_asked[late], nan=np.inf)
    found = []
    for name, expert in replayed.experts.items():
        advised = np.fmin(expert.issued[late, LEVELS.index(POLICY.level)], asked)
        has = np.isfinite(expert.issued[late, 0])
        spent = waste(problem.target, need[has], advised[has], problem.attempts.run_s[late][has])
        killed_share = killed(np.fmin(need, asked)[has], advised[has]).mean() if has.any() else np.nan
        cost = float(spent.sum()) if has.any() else np.inf
        found.append((name, cost, float(killed_share), int(has.sum())))
    found.sort(key=lambda one: one[1])
    return [
        {
            "expert": name,
            "waste": cost if has else None,
            "kill_share": killed_share if has else None,
            "attempts": has,
        }
        for name, cost, killed_share, has in found
    ]


def _issued_only(replayed: Replay) -> Replay:
    """A back-test without what only its scoring and fitting needed: of a large cluster that fills the memory."""
    return replace(replayed, seen=taken(replayed.seen, slice(0)), experts={}, as_issued={}, rivals={})


def _time(epoch_s: float) -> str:
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
