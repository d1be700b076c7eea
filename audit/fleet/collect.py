"""`audit collect`, the nodes' part: fetches closed segments that are not home yet, and checks each against its hash."""

import hashlib
import os
import re
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from audit.fleet.ansible import Reach, Told, ask
from audit.fleet.answer import Answer
from audit.fleet.slice import Target
from audit.workspace import Workspace

SEGMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}\.seg\.gz")
_INCOMING = "incoming"
_LARGEST_BYTES = 2**30  # of one segment: they are closed at 8 MiB
_CHUNK = 2**20


@dataclass(frozen=True)
class Fetched:
    """What came from one node; `error` says what did not, and why.

    `known`: segments there that were home before; NULL where the node did not list its own.
    """

    host: str
    segments: int = 0
    bytes: int = 0
    known: int | None = None
    error: str = ""
    unreachable: bool = False


def held(workspace: Workspace, host: str) -> list[str]:
    """The names of the segments of a host that are home."""
    folder = workspace.evidence / "telemetry" / host
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def fetch(workspace: Workspace, targets: Sequence[Target], reach: Reach, told: Told) -> list[Fetched]:
    """Fetches until no host has more. A cut leaves what is home whole; run again, it goes on from there."""
    incoming = emptied(workspace)
    came = {target.host: Fetched(target.host) for target in targets}
    waiting, rotate = [target.host for target in targets], True
    while waiting:
        requests = {host: {"have": held(workspace, host), "rotate": rotate} for host in waiting}
        answers = ask("collect", requests, reach, variables={"audit_incoming": str(incoming)}, told=told)
        waiting, rotate = [], False
        for host, answer in answers.items():
            before = came[host]
            came[host], more = taken(workspace, answer, incoming, before)
            if more:
                waiting.append(host)
    return list(came.values())


def emptied(workspace: Workspace) -> Path:
    """The folder in which transfers arrive, empty."""
    incoming = workspace.fleet / _INCOMING
    shutil.rmtree(incoming, ignore_errors=True)
    incoming.mkdir(parents=True)
    return incoming.absolute()


def taken(workspace: Workspace, answer: Answer, incoming: Path, before: Fetched) -> tuple[Fetched, bool]:
    """The account of a host after one round, and whether another is due."""
    listed = _listing(answer)
    known = before.known
    if known is None and isinstance(answer.value.get("segments"), list):
        known = len(set(held(workspace, answer.host)) & set(listed))
    now = replace(before, known=known)
    if answer.value.get("installed") is False:
        return replace(now, error="no collector is there"), False
    archive = incoming / f"{answer.host}.tar"
    error = answer.error or answer.text("rotate_failed") or ""
    if archive.exists():
        try:
            sizes = _unpacked(archive, listed, workspace.evidence / "telemetry" / answer.host)
        except (tarfile.TarError, _NotAsListedError) as failed:
            return replace(now, error=f"the transfer is damaged ({failed}): run this again"), False
        except OSError as failed:
            return replace(now, error=f"what came cannot be kept ({failed}): mend that, run this again"), False
        finally:
            archive.unlink()
        now = replace(now, segments=now.segments + len(sizes), bytes=now.bytes + sum(sizes))
        if sizes and not answer.error and set(listed) - set(held(workspace, answer.host)):
            return replace(now, error=error), True
    return replace(now, error=error or before.error, unreachable=answer.unreachable), False


def _listing(answer: Answer) -> dict[str, str]:
    """Segment name -> SHA-256, of those whose names are ones of ours."""
    pairs = ((str(row.get("name")), str(row.get("sha256"))) for row in answer.records("segments"))
    return {name: digest for name, digest in pairs if SEGMENT.fullmatch(name)}


class _NotAsListedError(Exception):
    """A segment is not what the node said it is."""


def _unpacked(archive: Path, listed: Mapping[str, str], folder: Path) -> list[int]:
    """Moves each segment of a transfer into `folder`, once its hash is right; answers their sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes: list[int] = []
    with tarfile.open(archive, "r:") as tar:
        for member in tar:
            if not member.isreg() or member.name not in listed or member.size > _LARGEST_BYTES:
                raise _NotAsListedError(f"{member.name[:80]!r} was not listed")
            draft = archive.with_suffix(".segment")
            digest = _copied(tar, member, draft)
            if digest != listed[member.name]:
                raise _NotAsListedError(f"{member.name} has another hash than the node said")
            if not (folder / member.name).exists():
                draft.replace(folder / member.name)
                sizes.append(member.size)
    return sizes


def _copied(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> str:
    """Writes one member; answers its SHA-256."""
    source, digest = tar.extractfile(member), hashlib.sha256()
    if source is None:
        raise _NotAsListedError(f"{member.name} is no file")
    with target.open("wb") as file:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())  # teardown removes the node's copy
    return digest.hexdigest()
