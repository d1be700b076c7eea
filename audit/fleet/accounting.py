"""`audit collect`, the controller's part: the window's accounting a day at a time, the nodes and their events."""

import math
import re
import secrets
import shlex
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from audit.fleet.ansible import Reach, Told, ask
from audit.fleet.answer import Answer
from audit.fleet.collect import emptied
from audit.fleet.deployment import Deployment
from audit.site import SITE_FIELDS, sreport_command
from audit.workspace import Workspace

_DUMP = re.compile(r"(?:sacct-\d{4}-\d\d-\d\d|nodes|node-events|sreport)\.txt\.gz")
HOUR_S = 3600
_SETTLED_S = HOUR_S  # after a day's end; late records of slurmdbd's are in by then


@dataclass(frozen=True)
class Asked:
    """What came from the controller: files, the days whose accounting is complete now, and what failed."""

    files: tuple[str, ...] = ()
    days_done: tuple[str, ...] = ()
    errors: tuple[str, ...] = field(default=())


def days_due(deployment: Deployment, now_s: float) -> list[tuple[str, str]]:
    """The days (UTC) of the window that began and are not complete: from inclusive, to exclusive."""
    day = datetime.fromtimestamp(deployment.window_from_s, UTC).date()
    last = datetime.fromtimestamp(min(now_s, deployment.window_to_s), UTC).date()
    days: list[tuple[str, str]] = []
    while day <= last:
        after = day + timedelta(days=1)
        if day.isoformat() not in deployment.days_done:
            days.append((day.isoformat(), after.isoformat()))
        day = after
    return days


def complete(days: Sequence[tuple[str, str]], unended: dict[str, int], asked_s: float) -> tuple[str, ...]:
    """The days that need not be asked again: over for an hour when asked, and every job of them ended."""
    return tuple(
        day
        for day, after in days
        if unended.get(day) == 0
        and asked_s >= datetime.fromisoformat(f"{after}T00:00:00+00:00").timestamp() + _SETTLED_S
    )


def sreport_words(deployment: Deployment, now_s: float) -> list[str]:
    """The words of the `sreport` command for the window's whole hours so far; none before there is one.

    The last hour is left out until it is rolled up, which Slurm does a few minutes after its end.
    """
    first_s = math.ceil(deployment.window_from_s / HOUR_S) * HOUR_S
    last_s = math.floor(min(deployment.window_to_s, now_s - HOUR_S / 4) / HOUR_S) * HOUR_S
    if last_s <= first_s:
        return []
    first, last = (f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%dT%H:%M:%S}" for at_s in (first_s, last_s))
    return [word for word in shlex.split(sreport_command(first, last)) if not re.match(r"[A-Z_]+=", word)]


def fetch_accounting(workspace: Workspace, deployment: Deployment, reach: Reach, told: Told) -> Asked:
    """Asks the controller; each dump stands in `evidence/accounting/` under a name that tells span and moment."""
    controller = next(
        (t.host for t in deployment.targets if "controller" in t.roles), workspace.config.fleet.controller
    )
    days = days_due(deployment, time.time())
    folder = f"/tmp/audit-asked-{secrets.token_hex(16)}"  # made there, for who logged in alone
    since = datetime.fromtimestamp(deployment.window_from_s, UTC).date().isoformat()
    request = {
        "folder": folder,
        "fields": SITE_FIELDS,
        "days": days,
        "since": since,
        "sreport": sreport_words(deployment, time.time()),
    }
    incoming = emptied(workspace)
    places = {"audit_incoming": str(incoming), "audit_staged": folder}
    answer = ask("accounting", {controller: request}, reach, variables=places, told=told)[controller]
    if not answer.value:
        return Asked(errors=(f"{controller}: {answer.error}",))
    errors = tuple(f"{controller}: {line[:300]}" for line in answer.texts("failed"))
    archive = incoming / f"{controller}.tar"
    if not archive.exists():
        return Asked(errors=errors or (f"{controller}: {answer.error or 'nothing was fetched'}",))
    asked_s = answer.ended_s or time.time()
    moment = f"{datetime.fromtimestamp(asked_s, UTC):%Y%m%dT%H%M%SZ}"
    try:
        files = _unpacked(archive, workspace.evidence / "accounting", moment)
    except tarfile.TarError as failed:
        return Asked(errors=(*errors, f"{controller}: the transfer is damaged ({failed}): run this again"))
    except OSError as failed:
        return Asked(errors=(*errors, f"{controller}: what came cannot be kept ({failed}): mend that, run this again"))
    finally:
        archive.unlink()
    return Asked(tuple(files), complete(days, _unended(answer), asked_s), errors)


def _unended(answer: Answer) -> dict[str, int]:
    """Day -> how many of its jobs had not ended; a day that was not answered as it should be is left out."""
    return {
        str(r["day"]): r["open"] for r in answer.records("files") if r.get("day") and isinstance(r.get("open"), int)
    }


def _unpacked(archive: Path, folder: Path, moment: str) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    names: list[str] = []
    with tarfile.open(archive, "r:") as tar:
        for member in tar:
            source = tar.extractfile(member) if member.isreg() and _DUMP.fullmatch(member.name) else None
            if source is None:
                raise tarfile.ReadError(f"{member.name[:80]!r} is none of what was asked")
            name = f"{member.name.removesuffix('.txt.gz')}-asked-{moment}.txt.gz"
            draft = archive.with_suffix(".dump")
            with draft.open("wb") as file:
                while chunk := source.read(2**20):
                    file.write(chunk)
            draft.replace(folder / name)
            names.append(name)
    return names
