"""The verbs that size jobs: `audit train`, `audit estimate`. What is heavy is imported inside."""

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from audit.sizing.estimate import SitePolicy
    from audit.sizing.model_set import TargetModel
    from audit.submission import Submission
    from audit.workspace import Config, Workspace

_LONGEST = 2000  # characters of a line
_MOST_JOBS = 1000  # of one question


def train(arguments: argparse.Namespace) -> ExitCode:
    """`audit train`: fits the models, plays them through the window, and writes down what they would have advised."""
    from audit.workspace import find_workspace

    return train_in(find_workspace(arguments.dir), as_json=arguments.json)


def train_in(workspace: "Workspace", *, as_json: bool = False) -> ExitCode:
    """Trains in an engagement's folder. NoReportError where it has too few attempts, AuditError where one runs."""
    from audit.accounting.views import create_use_views
    from audit.sizing.advice import write_advice
    from audit.sizing.cases import cases
    from audit.sizing.run_prices import write_prices
    from audit.sizing.train import Setting, train
    from audit.sizing.training_lock import training_lock
    from audit.store import open_current
    from audit.terminal import Progress, print_json, print_table, say

    config = workspace.config
    progress = Progress()
    progress.show("reading attempts")
    with training_lock(workspace.models), open_current(workspace, say) as store:
        create_use_views(store.connection, workspace)
        known = cases(store.connection)
        setting = Setting(
            cluster=config.cluster,
            quantile=config.policy.quantile,
            mem_step_bytes=config.policy.mem_step_bytes,
            generated_sample=is_generated(workspace, store.connection),
            evidence_sha256=_fingerprint(store.connection),
        )
        try:
            trained = train(known, setting, workspace.models, progress.show)
        finally:
            progress.done()
        prices = write_prices(store.connection, config.prices, workspace.models)
        write_advice(known, trained.replays, workspace.replay, config.policy.mem_step_bytes)
    if as_json:
        print_json([dict(model.card) for model in trained.models.values()])
    else:
        print_table([_card_row(model) for model in trained.models.values()])
    for model in trained.models.values():
        if model.card["earlier"]["kept"]:  # type: ignore[index]
            say(f"audit: {model.served.target.name}: the earlier model foresaw better and stays")
    for name, why_not in trained.unreadable.items():
        say(f"audit: {name}: the earlier model counts as none: it {why_not}")
    for name, count in trained.too_few.items():
        say(f"audit: {name}: no model, it was measured in {count} finished attempts only")
    for name, reason in prices.reasons.items():
        say(f"audit: no dollars of {name or 'GPUs without type'}: {reason}")
    if setting.generated_sample:
        say("audit: generated sample: these models say nothing of a real cluster")
    return ExitCode.DONE


def estimate(arguments: argparse.Namespace) -> ExitCode:
    """`audit estimate`: says what a submission should ask for."""
    from audit.reporting.hostile import visible
    from audit.sizing.estimate import Models, Question, estimate, targets_of
    from audit.sizing.estimate_json import as_json
    from audit.sizing.estimate_text import explained, head, lines, table
    from audit.sizing.model_set import check_cluster, guarded
    from audit.terminal import print_json, print_table, say

    if not (arguments.dir / "audit.toml").is_file() and not (arguments.dir / "models").is_dir():
        remedy = "name the engagement's folder with --dir"
        raise UsageError("no audit.toml and no models here", where=str(arguments.dir), remedy=remedy)
    submission = _submission(arguments)
    at_s = time.time() if arguments.at is None else arguments.at
    folder, config = arguments.dir / "models", _config(arguments.dir)
    question = Question(arguments.quantile, arguments.risk, arguments.time_limit, at_s, _policy(config))
    models = Models.load(folder, targets_of(submission))
    if config is not None:
        check_cluster(models.own.values(), config.cluster, folder)
    with guarded(folder):
        found = estimate(submission, models, question)
    if arguments.json:
        print_json(as_json(found, question))
    for place, component in enumerate(() if arguments.json else found.components, start=1):
        print(visible(head(component, place, len(found.components))))
        print_table(table(component))
        steps = explained(component) if arguments.explain else ()
        for line in (*lines(component, found), *steps):
            print(visible(line, _LONGEST))
    for line in found.warnings:
        say(f"audit: {line}")
    is_advised = any(component.is_advised for component in found.components)
    return ExitCode.DONE if is_advised else ExitCode.NO_REPORT


def is_generated(workspace: "Workspace", connection: Any) -> bool:
    """Whether the cluster is a generated one, or any of the evidence is."""
    (row,) = connection.execute("SELECT coalesce(bool_or(generated), false) FROM evidence_file").fetchall()
    return workspace.config.generated_sample or bool(row[0])


def _config(folder: Path) -> "Config | None":
    """audit.toml; None where only the models are there."""
    from audit.workspace import CONFIG_NAME, read_config

    return read_config(folder / CONFIG_NAME) if (folder / CONFIG_NAME).is_file() else None


def _policy(config: "Config | None") -> "SitePolicy | None":
    """What audit.toml says of requests."""
    from audit.sizing.estimate import SitePolicy

    if config is None:
        return None
    policy = config.policy
    return SitePolicy(policy.quantile, policy.mem_step_bytes, policy.whole_node_partitions)


def _submission(arguments: argparse.Namespace) -> "Submission":
    """The job as it was said: after --, by --job, or as JSON on standard input."""
    from audit.submission import from_command, from_job, from_json

    ways = [arguments.job is not None, bool(arguments.words)]
    if all(ways):
        raise UsageError("the job is said twice", where="estimate", remedy="give --job, or a script after --")
    if arguments.job is not None:
        return from_job(arguments.job)
    if arguments.words == ["-"] or (not arguments.words and not sys.stdin.isatty()):
        found = from_json(sys.stdin.buffer)
        if len(found.requests) > _MOST_JOBS:
            what = f"holds {len(found.requests):,} jobs, and {_MOST_JOBS:,} can be asked about at once"
            raise UsageError(what, where="standard input", remedy="ask in parts")
        return found
    return from_command(arguments.words)


def _fingerprint(connection: Any) -> str:
    """One sha256 for all evidence, whatever the order in which it came."""
    from hashlib import sha256

    files = connection.execute("SELECT sha256 FROM evidence_file ORDER BY ALL").fetchall()
    return sha256("\n".join(found for (found,) in files).encode()).hexdigest()


def _card_row(model: "TargetModel") -> dict[str, object]:
    card: Any = model.card
    shares = {f"p{100 * level['level']:g}": level["realised"] for level in card["coverage"]}
    return {
        "target": card["target"],
        "attempts": card["attempts"],
        "measured": card["measured"],
        "users": card["users"],
        "bursts": card["bursts"],
        **{name: None if share is None else f"{100 * share:.1f} %" for name, share in shares.items()},
        "expert": model.facts.expert,
    }
