"""Samples the node as a whole: CPU, memory, load at every sample, counters at an interval's end. Reads only."""

from audit_collector.counters import Counters
from audit_collector.files import read

_CPU_FIELDS = 8  # user nice system idle iowait irq softirq steal; guest time is within user


class Node:
    """What the node did since the last row."""

    def __init__(self, root: str, degraded: object) -> None:
        self.root = root
        self.degraded = degraded
        self.counters = Counters(root, degraded)
        self.last_ticks = self._ticks()
        self.counted = self.counters.read()
        self._start_row()

    def _start_row(self) -> None:
        self.samples = 0
        self.row_ticks = self.last_ticks
        self.busy_max = self.load1_max = None
        self.total_bytes = self.available_min = self.swap_max = None

    def sample(self) -> None:
        """Takes one sample; what cannot be read stays as it was, which is NULL if it never could."""
        ticks = self._ticks()
        if ticks and self.last_ticks:
            busy = _busy(self.last_ticks, ticks)[0]
            self.busy_max = (
                busy if self.busy_max is None or (busy is not None and busy > self.busy_max) else self.busy_max
            )
        self.last_ticks = ticks
        text = self._read("/proc/meminfo")
        if text:
            total, available = number_kib(text, b"MemTotal:"), number_kib(text, b"MemAvailable:")
            swap, free = number_kib(text, b"SwapTotal:"), number_kib(text, b"SwapFree:")
            self.total_bytes = total
            if available is not None:
                self.available_min = available if self.available_min is None else min(self.available_min, available)
            if swap is not None and free is not None:
                self.swap_max = max(self.swap_max or 0, swap - free)
        text = self._read("/proc/loadavg")
        if text:
            self.load1_max = max(self.load1_max or 0.0, float(text.split(None, 1)[0]))
        self.samples += 1

    def row(self, from_s: float, to_s: float) -> tuple:
        """The `node` row of the interval; starts the next."""
        busy, iowait = _busy(self.row_ticks, self.last_ticks)
        counted = self.counters.read()
        added = []
        for name in COUNTED:
            before, now = self.counted.get(name), counted.get(name)
            # A counter that fell was reset (a driver, a mount): what was added is not known.
            added.append(now - before if before is not None and now is not None and now >= before else None)
        self.counted = counted
        row = (
            from_s,
            to_s,
            self.samples,
            self.cores(),
            busy,
            self.busy_max,
            iowait,
            self.load1_max,
            self.total_bytes,
            self.available_min,
            self.swap_max,
        ) + tuple(added)
        self._start_row()
        return row

    def cores(self) -> object:
        """How many CPUs are online; None where /proc/stat is not readable."""
        text = self._read("/proc/stat")
        return text.count(b"\ncpu") or None

    def _ticks(self) -> list:
        text = self._read("/proc/stat")
        words = text[: text.find(b"\n")].split()
        return [int(word) for word in words[1 : 1 + _CPU_FIELDS]] if len(words) > 5 else []

    def _read(self, path: str) -> bytes:
        try:
            return read(self.root + path)
        except OSError as error:
            self.degraded("node: %s is not readable (%s)" % (path, error.strerror))
            return b""


COUNTED = (
    "psi_cpu_some_s psi_mem_some_s psi_mem_full_s psi_io_some_s psi_io_full_s net_rx_bytes net_tx_bytes ib_rx_bytes"
    " ib_tx_bytes disk_read_bytes disk_write_bytes disk_busy_s nfs_read_bytes nfs_write_bytes lustre_read_bytes"
    " lustre_write_bytes"
).split()


def number_kib(text: bytes, key: bytes) -> object:
    """A /proc/meminfo figure in bytes; None where the kernel does not give it."""
    at = text.find(key)
    return None if at < 0 else int(text[at + len(key) :].split(None, 1)[0]) * 1024


def _busy(before: list, now: list) -> tuple:
    """(share of all CPUs busy, share waiting for I/O) between two readings; None where no time has passed."""
    if not before or not now:
        return None, None
    total = sum(now) - sum(before)
    if total <= 0:
        return None, None
    idle, iowait = now[3] - before[3], max(0, now[4] - before[4])
    return min(1.0, max(0.0, 1.0 - (idle + iowait) / float(total))), min(1.0, iowait / float(total))
