"""What the collector keeps beside its segments: enough to go on after a restart, and to say how it is doing.

Touches DIR/spool/state and reads DIR/spool. The file is packed JSON, replaced whole once per interval.
"""

import json
import os
import time
import zlib

from audit_collector import VERSION
from audit_collector.spool import Spool, SpoolError

LARGEST_BYTES = 32 << 20
GAPS_KEPT = 20
# The pid counts only of one that is alive: the lock tells.
_NOT_FROM_NOW = ("pid", "alive", "ended")
_LASTING = ("last_s", "boot_id", "ended", "jobs")


class State:
    """The counts of a window, over all runs of the collector; times in epoch seconds."""

    def __init__(self) -> None:
        self.from_s = None
        self.first_s = None
        self.last_s = None
        self.boot_id = None
        self.ended = None
        self.watched_s = 0.0
        self.gap_count = 0
        self.gaps = []
        self.late_max_s = 0.0
        self.missed = 0
        self.own_written_bytes = 0
        self.jobs = []
        self.now = {}
        """What is true of this run only: pid, start, own cost, cards, what is not readable."""

    def begin(self, from_s: float) -> None:
        """Counts anew where this is another window; where the last run ended, and what it knew of jobs, is kept."""
        if self.from_s != from_s:
            kept = {name: self.__dict__[name] for name in _LASTING}
            self.__dict__.update(State().__dict__, from_s=from_s, **kept)

    def gap(self, from_s: float, to_s: float, reason: str) -> None:
        """Counts a gap; the largest are kept by name."""
        self.gap_count += 1
        self.gaps.append([round(from_s, 3), round(to_s, 3), reason])
        self.gaps.sort(key=lambda one: one[0] - one[1])
        del self.gaps[GAPS_KEPT:]

    def save(self, spool: object) -> int:
        """Writes it; raises OSError. The octets written."""
        text = zlib.compress(json.dumps(self.__dict__, separators=(",", ":")).encode("ascii"), 6)
        spool.replace("state", text)
        return len(text)


def load(spool: object) -> State:
    """What an earlier run saved; a new state where there is none that can be read."""
    state = State()
    try:
        packed = spool.read("state", LARGEST_BYTES)
        table = json.loads(zlib.decompressobj().decompress(packed, LARGEST_BYTES).decode("ascii"))
        known = {name: table[name] for name in state.__dict__ if name in table}
    except (OSError, ValueError, TypeError, RuntimeError, zlib.error):
        return state
    if all(_FITS[name](value) for name, value in known.items()):
        state.__dict__.update(known)
    return state


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e18


def _is_time(value: object) -> bool:
    return value is None or _is_number(value)


def _is_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _are(value: object, kinds: object) -> bool:
    return isinstance(value, list) and len(value) == len(kinds) and all(fits(one) for fits, one in zip(kinds, value))


def _is_job(value: object) -> bool:
    return _are(value, (lambda one: isinstance(one, str), _is_number, lambda one: _are(one, (_is_number,) * 8)))


# What each part of a state has to be: another program than this may have written the file.
_FITS = {
    "from_s": _is_time,
    "first_s": _is_time,
    "last_s": _is_time,
    "boot_id": _is_text,
    "ended": _is_text,
    "watched_s": _is_number,
    "gap_count": _is_number,
    "gaps": lambda value: (
        isinstance(value, list) and all(_are(one, (_is_number, _is_number, _is_text)) for one in value)
    ),
    "late_max_s": _is_number,
    "missed": _is_number,
    "own_written_bytes": _is_number,
    "jobs": lambda value: isinstance(value, list) and all(_is_job(one) for one in value),
    "now": lambda value: isinstance(value, dict),
}


def status(folder: str, settings: object) -> dict:
    """What `status` prints; works when nothing runs, and before anything ever ran."""
    now_s = time.time()
    try:
        spool = Spool(folder, create=False)
    except SpoolError:
        spool, state, holder = None, State(), None
    else:
        state, holder = load(spool), spool.holder()
    from_s, to_s = settings.from_s, settings.to_s
    since_s = max(from_s, state.first_s or from_s)
    until_s = min(now_s, to_s)
    expected_s = max(0.0, until_s - since_s)
    names = spool.names() if spool else []
    answer = {
        "version": VERSION,
        "node": settings.node,
        "roles": settings.roles,
        "alive": holder is not None,
        "pid": holder or None,
        "started_s": None,
        "now_s": round(now_s, 3),
        "window_from_s": from_s,
        "window_to_s": to_s,
        "ended": None if holder is not None else state.ended,
        "watched_s": round(state.watched_s, 3),
        "expected_s": round(expected_s, 3),
        "coverage": round(min(1.0, state.watched_s / expected_s), 4) if expected_s > 0 else None,
        "gaps": [dict(zip(("from_s", "to_s", "reason"), one)) for one in state.gaps],
        "gap_count": state.gap_count,
        "own_cpu_share": None,
        "own_rss_bytes": None,
        "own_written_bytes": state.own_written_bytes,
        "late_max_s": state.late_max_s,
        "missed": state.missed,
        "jobs_now": None,
        "gpus": None,
        "nvml": None,
        "dcgm": None,
        "degraded": [],
        "spool_bytes": spool.size_bytes() if spool else 0,
        "disk_free_bytes": free_bytes(folder),
        "segments_closed": len([name for name in names if name.endswith(".seg.gz")]),
    }
    answer.update({name: value for name, value in state.now.items() if name in answer and name not in _NOT_FROM_NOW})
    return answer


def free_bytes(folder: str) -> object:
    """What a user may still fill of the disk `folder` (or the nearest folder above that is there) is on."""
    folder = os.path.abspath(folder)
    while not os.path.isdir(folder) and folder != "/":
        folder = os.path.dirname(folder)
    try:
        told = os.statvfs(folder)
    except OSError:
        return None
    return told.f_bavail * told.f_frsize
