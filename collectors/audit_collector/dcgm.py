"""The profiling fields of DCGM, where its host engine runs: what the engine watches already is read, nothing more.

Profiling fields use the cards' only set of performance counters: asking the engine to watch them would take the
counters from users' profilers. So this adds no watch, starts no engine and installs nothing; where nobody else (such as
an exporter) has the fields watched, they are not measured. Loads libdcgm only when an engine listens on this node.
Layouts are those of dcgm_structs.h, the same since DCGM 1.7; every value carries its layout's version, and is checked.
"""

import ctypes
import os

from audit_collector.files import read_or_none

LIBRARIES = ("libdcgm.so.4", "libdcgm.so.3", "libdcgm.so.2")
FIELDS = {
    1001: "graphics_active_mean",
    1002: "sm_active_mean",
    1004: "tensor_active_mean",
    1005: "dram_active_mean",
}
UUID_FIELD = 54
LIVE = 1  # flag: ask the driver instead of what is watched; for the UUIDs only
GPU_ENTITY = 1
NOT_WATCHED = -16
PORT = ":%04X" % 5555
LISTENING = "0A"
SOCKET = "/tmp/nv-hostengine"  # noqa: S108 — the engine's own default
LONGEST_LIST = 64
FIRST_USER = 1000  # login.defs' first number of a user's own account
RETRY_S = 300.0


def _is_system(owner: object) -> bool:
    return owner is not None and owner < FIRST_USER


class Value(ctypes.Structure):
    """dcgmFieldValue_v2."""

    class _Content(ctypes.Union):
        _fields_ = [("number", ctypes.c_double), ("text", ctypes.c_char * 256), ("blob", ctypes.c_char * 4096)]

    _fields_ = [
        ("version", ctypes.c_uint),
        ("entity_kind", ctypes.c_uint),
        ("entity", ctypes.c_uint),
        ("field", ctypes.c_ushort),
        ("kind", ctypes.c_ushort),
        ("status", ctypes.c_int),
        ("unused", ctypes.c_uint),
        ("at_us", ctypes.c_int64),
        ("content", _Content),
    ]


class Entity(ctypes.Structure):
    """dcgmGroupEntityPair_t."""

    _fields_ = [("kind", ctypes.c_uint), ("entity", ctypes.c_uint)]


class Connection(ctypes.Structure):
    """dcgmConnectV2Params_v2."""

    _fields_ = [(name, ctypes.c_uint) for name in ("version", "persist", "timeout_ms", "is_socket")]


def version_of(layout: type, number: int) -> int:
    """DCGM's version word: the layout's number above its size."""
    return number << 24 | ctypes.sizeof(layout)


class Failed(Exception):
    """The host engine, or its library, does not do; the text says what."""


class Profiling:
    """The engine's newest values; `state` is ok, absent, or why not."""

    def __init__(self, root: str) -> None:
        """Nothing is loaded before an engine is seen; `root` prefixes /proc."""
        self.root, self.state, self.retry_at = root, "absent", 0.0
        self.library, self.handle, self.uuids = None, None, {}

    def poll(self, mono_s: float) -> dict:
        """{uuid: {column: (share, epoch s)}} of the fields that somebody has the engine watch; never raises."""
        if self.handle is None and mono_s < self.retry_at:
            return {}
        try:
            if self.handle is None:
                self.retry_at = mono_s + RETRY_S
                if not self._connect():
                    return {}
            return self._read()
        except (Failed, OSError, AttributeError) as error:
            self.state = "failed: %s" % error
            self.close()
            return {}

    def close(self) -> None:
        """Leave the engine."""
        if self.handle is not None:
            self.library.dcgmDisconnect(self.handle)
            self.library.dcgmShutdown()
        self.handle, self.uuids = None, {}

    def _connect(self) -> bool:
        address = self._engine()
        if address is None:
            self.state = "absent"
            return False
        self.library = self.library or self._load()
        library = self.library
        self._ask(library.dcgmInit)
        handle = ctypes.c_void_p()
        wanted = Connection(0, 0, 1000, 1 if address == SOCKET else 0)
        wanted.version = version_of(Connection, 2)
        self._ask(library.dcgmConnect_v2, address.encode(), ctypes.byref(wanted), ctypes.byref(handle))
        self.handle = handle
        ids, count = (ctypes.c_uint * LONGEST_LIST)(), ctypes.c_int()
        self._ask(library.dcgmGetAllDevices, handle, ids, ctypes.byref(count))
        found = self._values(ids[: min(count.value, LONGEST_LIST)], (UUID_FIELD,), LIVE)
        self.uuids = {v.entity: v.content.text.decode("ascii", "replace") for v in found if v.status == 0}
        return True

    def _engine(self) -> object:
        """Where an engine listens on this node: its TCP address, its socket, or None.

        The port and the folder of the socket are open to every user: what a user listens with is no engine.
        """
        owners = set()
        for name in ("tcp", "tcp6"):
            for line in self._lines("proc/net/" + name):
                words = line.split()
                if len(words) > 7 and words[1].endswith(PORT) and words[3] == LISTENING:
                    owners.add(int(words[7]) if words[7].isdigit() else None)
        if owners:
            return "127.0.0.1" if all(_is_system(owner) for owner in owners) else None
        if any(line.endswith(" " + SOCKET) for line in self._lines("proc/net/unix")):
            try:
                told = os.lstat(SOCKET)
            except OSError:
                return None
            return SOCKET if _is_system(told.st_uid) else None
        return None

    def _lines(self, name: str) -> list:
        # A socket's name is whatever its user likes, no text at all too.
        return (read_or_none(os.path.join(self.root, name)) or b"").decode("ascii", "replace").split("\n")

    def _load(self) -> object:
        named = os.environ.get("AUDIT_DCGM_LIBRARY")
        for name in (named,) if named else LIBRARIES:
            try:
                return ctypes.CDLL(name)
            except OSError:
                pass
        raise Failed("an engine runs, but there is no %s" % (named or LIBRARIES[0]))

    def _ask(self, function: object, *arguments: object) -> None:
        code = function(*arguments)
        if code:
            raise Failed("%s says %d" % (function.__name__, code))

    def _values(self, ids: list, fields: tuple, flags: int) -> object:
        """The records of these fields of these cards; raises Failed where their layout is not the known one."""
        entities = (Entity * len(ids))(*[Entity(GPU_ENTITY, i) for i in ids])
        wanted = (ctypes.c_ushort * len(fields))(*fields)
        found = (Value * (len(ids) * len(fields)))()
        if len(found):
            self._ask(
                self.library.dcgmEntitiesGetLatestValues,
                self.handle,
                entities,
                ctypes.c_uint(len(ids)),
                wanted,
                ctypes.c_uint(len(fields)),
                ctypes.c_uint(flags),
                found,
            )
        for value in found:
            if value.version != version_of(Value, 2) or value.field not in fields or value.entity not in ids:
                raise Failed("values of another layout (version %#x)" % value.version)
        return found

    def _read(self) -> dict:
        shares, unwatched = {}, 0
        for value in self._values(sorted(self.uuids), tuple(sorted(FIELDS)), 0):
            if value.status == NOT_WATCHED:
                unwatched += 1
            elif value.status == 0 and value.kind == ord("d") and 0.0 <= value.content.number <= 1.0:
                card = shares.setdefault(self.uuids[value.entity], {})
                card[FIELDS[value.field]] = (value.content.number, value.at_us / 1e6)
        self.state = "ok" if shares or not unwatched else "profiling fields are not watched by the engine"
        return shares
