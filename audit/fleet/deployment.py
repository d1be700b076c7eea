"""`fleet/deployment.json`: what is deployed from an engagement's folder, and the lock around changing it."""

import fcntl
import getpass
import json
import os
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime

from audit.errors import AuditError, UsageError
from audit.fleet.slice import Target
from audit.workspace import CONFIG_NAME, Workspace

NAME = "deployment.json"
DAY_S = 86_400


@dataclass(frozen=True)
class Deployment:
    """The window (epoch seconds) and the hosts that carry a collector, or may: those not proved clean again.

    `days_done` are the days (UTC) whose accounting is complete and is not asked again. `planned` are all hosts that
    should carry a collector, those too that were not fit for one; empty where an earlier version wrote the file.
    """

    engagement: str
    window_from_s: float
    window_to_s: float
    by: str
    at_s: float
    collector_sha256: str = ""
    targets: tuple[Target, ...] = ()
    days_done: tuple[str, ...] = field(default=())
    planned: tuple[Target, ...] = ()

    def without(self, hosts: set[str]) -> "Deployment":
        """The same, some hosts being clean."""
        targets, planned = (tuple(t for t in of if t.host not in hosts) for of in (self.targets, self.planned))
        return replace(self, targets=targets, planned=planned)


def who() -> str:
    """The engineer at work, for the lines that others see."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # an account without a name
        user = f"user {os.getuid()}"
    return f"{user}@{socket.gethostname()}"[:100]


def load(workspace: Workspace) -> Deployment | None:
    """What is deployed; None where nothing ever was. AuditError where the file is damaged."""
    path = workspace.fleet / NAME
    if not path.exists():
        return None
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        targets, planned = (
            tuple(Target(t["host"], t["node"], tuple(t["roles"])) for t in of)
            for of in (raw["targets"], raw.get("planned", ()))
        )
        return Deployment(**{**raw, "targets": targets, "planned": planned, "days_done": tuple(raw["days_done"])})
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = f"cannot be read ({type(error).__name__})"
        raise AuditError(what, where=str(path), remedy="put back a copy; the collectors run on") from None


def deployed(workspace: Workspace, *, or_was: bool = False) -> Deployment:
    """What is deployed; UsageError where nothing is, nor, with `or_was`, ever was."""
    found = load(workspace)
    if found is None or not (found.targets or or_was):
        raise UsageError("nothing is deployed from this folder", where=str(workspace.root), remedy="`audit deploy`")
    return found


def save(workspace: Workspace, deployment: Deployment) -> None:
    """Writes it whole or not at all."""
    draft = workspace.fleet / f"{NAME}.new"
    with draft.open("w", encoding="utf-8") as file:
        json.dump(asdict(deployment), file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(workspace.fleet / NAME)


def window(workspace: Workspace, known: Deployment | None, days: float | None) -> tuple[float, float]:
    """From and to, epoch seconds: as `audit.toml` says, else as deployed before, else from now for `days`.

    UsageError where it is over already.
    """
    config, where = workspace.config, str(workspace.root.absolute() / CONFIG_NAME)
    now_s = float(int(time.time()))
    stated_from = config.window_from.timestamp() if config.window_from else None
    from_s = known.window_from_s if known else max(stated_from or now_s, now_s)
    if days is None and config.window_to:
        to_s = config.window_to.timestamp()
    elif days is None and known:
        to_s = known.window_to_s
    else:
        to_s = from_s + (days or config.fleet.days) * DAY_S
    if to_s <= now_s:
        ended = f"{datetime.fromtimestamp(to_s, UTC):%Y-%m-%d %H:%M} UTC"
        raise UsageError(f"the window ended at {ended}", where=where, remedy="set window.to, or give --days")
    if to_s <= from_s:
        begins = f"{datetime.fromtimestamp(from_s, UTC):%Y-%m-%d %H:%M} UTC"
        raise UsageError(f"the window ends before it begins, at {begins}", where=where, remedy="mend window.to")
    return from_s, to_s


def new_engagement() -> str:
    """A name no other engagement has."""
    return uuid.uuid4().hex


@contextmanager
def locked(workspace: Workspace) -> Iterator[None]:
    """One engineer at a time in this folder; AuditError with a line that says who where another is at it."""
    workspace.fleet.mkdir(exist_ok=True)
    with (workspace.fleet / ".lock").open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            holder = file.read(200).strip() or "another command"
            raise AuditError(f"{holder} is at it", where=str(workspace.fleet), remedy="wait, then run this") from None
        file.truncate(0)
        file.write(f"{who()} (process {os.getpid()})")
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)
