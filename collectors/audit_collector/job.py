"""One job on this node: its kernel files, read at every sample, and what its row of an interval says. Reads only."""

import os

from audit_collector.files import Kept, names, number_after, read_or_none, whole
from audit_collector.processes import Processes, is_group

# v1 writes "no limit" as the largest number of pages.
_NO_LIMIT_BYTES = 1 << 60
# A peak this near the limit may have met it: the kernel charges pages in batches.
_NEAR_LIMIT_BYTES = 1 << 20


class Job:
    """One job's cgroups and counters since its last row. Sizes in bytes, CPU and times in seconds."""

    __slots__ = (
        "absent",
        "age",
        "anon_max",
        "anon_min",
        "anon_sum",
        "budget",
        "cores_max",
        "counted",
        "cpu_s",
        "file_max",
        "files",
        "folders",
        "from_now",
        "from_s",
        "kills",
        "least_span_s",
        "limit_bytes",
        "listed",
        "mem_samples",
        "members",
        "no_shmem",
        "oom_kills",
        "peak_bytes",
        "pids",
        "place",
        "processes",
        "processes_max",
        "rate_cpu_s",
        "rate_mono_s",
        "read_bytes",
        "restored",
        "root",
        "row_cpu_s",
        "row_read_bytes",
        "row_throttled_s",
        "row_write_bytes",
        "samples",
        "since_s",
        "swap_max",
        "throttled_s",
        "to_s",
        "turn",
        "write_bytes",
    )

    def __init__(self, root: str, place: object, budget: object, least_span_s: float) -> None:
        self.root = root
        self.place = place
        self.budget = budget
        self.least_span_s = least_span_s
        self.folders = {}
        self.files = {}
        self.absent = set()
        self.since_s = self.from_s = self.to_s = 0.0
        self.listed = self.restored = self.from_now = self.counted = self.no_shmem = False
        self.turn = self.age = 0
        self.pids = []
        self.members = None
        self.processes = Processes(root, budget)
        self.cpu_s = self.throttled_s = self.read_bytes = self.write_bytes = None
        # What the last row had counted up to; all counters of a cgroup start at 0.
        self.row_cpu_s = self.row_throttled_s = 0.0
        self.row_read_bytes = self.row_write_bytes = 0
        self.rate_cpu_s = self.rate_mono_s = None
        self.oom_kills = self.peak_bytes = self.limit_bytes = None
        self.kills = {}
        self._start_row()

    def _start_row(self) -> None:
        self.samples = self.mem_samples = self.anon_sum = 0
        self.anon_min = self.anon_max = self.file_max = self.swap_max = None
        self.cores_max = self.processes_max = None

    @property
    def by_processes(self) -> bool:
        """Whether no cgroup counts the job's CPU time, nor ever did."""
        return not self.counted and "cpu" not in self.files

    def find_files(self, folders: dict) -> None:
        """Takes the files of the job's cgroups that are there by now: Slurm makes one controller after another."""
        self.folders = folders
        version = self.place.version
        for name, controller, file in _FILES[version]:
            if controller in folders and name not in self.files and (name, file) not in self.absent:
                path = folders[controller] + "/" + file
                # What is not there is another's to tell from the first row on: the I/O, its processes'.
                if os.path.exists(path):
                    self.files[name] = Kept(path, self.budget)
        memory = folders.get("memory" if version == 1 else "")
        if memory:
            text = read_or_none(memory + ("/memory.limit_in_bytes" if version == 1 else "/memory.max"))
            limit_bytes = None if text is None else whole(text)
            self.limit_bytes = limit_bytes if limit_bytes is not None and limit_bytes < _NO_LIMIT_BYTES else None

    def baseline(self) -> list:
        """What `restore` needs, as a JSON list."""
        return [
            round(self.since_s, 3),
            round(self.from_s, 3),
            round(self.row_cpu_s, 6),
            round(self.row_throttled_s, 6),
            self.row_read_bytes,
            self.row_write_bytes,
            self.processes.retired_ticks,
            self.processes.total_ticks,
        ]

    def restore(self, known: list) -> None:
        """Goes on where an earlier run's last row ended."""
        self.since_s, self.from_s, self.row_cpu_s, self.row_throttled_s = known[:4]
        self.row_read_bytes, self.row_write_bytes = known[4:6]
        self.processes = Processes(self.root, self.budget, known[6], known[7])
        self.restored = True

    def sample(self, now_s: float, mono_s: float) -> None:
        """Reads what there is; a job that goes away meanwhile keeps what was read and ends at its last good sample."""
        read_any = False
        self.age += 1
        if self.by_processes and self.listed:
            cpu_s = self.processes.sample(self.pids)
            if self.processes.alive:
                self.cpu_s = cpu_s
                read_any = True
        for name, kept in list(self.files.items()):
            try:
                _READERS[name](self, kept.read())
            except (OSError, ValueError):
                kept.close()
                del self.files[name]
                self.absent.add((name, kept.path.rpartition("/")[2]))
                continue
            read_any = True
        if not read_any:
            return
        self.samples += 1
        self.to_s = now_s
        if self.listed:
            self.processes_max = _larger(self.processes_max, len(self.pids))
        if self.place.version == 1 and self.peak_bytes is not None and self.limit_bytes is not None:
            self._count_kills()
        self._rate(mono_s)
        if self.from_now:
            self.from_now = False
            self._end_row()

    def sample_io(self, pids: list) -> None:
        """Takes the I/O of the job's processes; raises PermissionError where it may not be read."""
        self.read_bytes, self.write_bytes = self.processes.sample_io(pids)

    def row(self) -> tuple:
        """The row since the last one, in the order of the `job` columns; starts the next."""
        cpu_s = _added(self.cpu_s, self.row_cpu_s)
        source = "processes" if self.by_processes else _CPU_SOURCES[self.place.version]
        row = (
            self.place.job,
            round(self.since_s, 3),
            round(self.from_s, 3),
            self.to_s,
            self.samples,
            cpu_s,
            source if cpu_s is not None else None,
            self.cores_max,
            self.anon_min,
            self.anon_sum // self.mem_samples if self.mem_samples else None,
            self.anon_max,
            self.file_max,
            self.peak_bytes,
            self.limit_bytes,
            self.swap_max,
            self.oom_kills,
            _added(self.throttled_s, self.row_throttled_s),
            _added(self.read_bytes, self.row_read_bytes),
            _added(self.write_bytes, self.row_write_bytes),
            self.processes_max,
        )
        self._end_row()
        return row

    def _end_row(self) -> None:
        self.from_s = self.to_s
        self.row_cpu_s = _or(self.cpu_s, self.row_cpu_s)
        self.row_throttled_s = _or(self.throttled_s, self.row_throttled_s)
        self.row_read_bytes = _or(self.read_bytes, self.row_read_bytes)
        self.row_write_bytes = _or(self.write_bytes, self.row_write_bytes)
        self._start_row()

    def close(self) -> None:
        """Gives the files back."""
        for kept in self.files.values():
            kept.close()
        self.processes.close()
        if self.members is not None:
            self.members.close()

    def _rate(self, mono_s: float) -> None:
        if self.cpu_s is None:
            return
        if self.rate_mono_s is not None:
            span_s = mono_s - self.rate_mono_s
            if span_s < self.least_span_s:
                return
            self.cores_max = _larger(self.cores_max, max(0.0, (self.cpu_s - self.rate_cpu_s) / span_s))
        self.rate_cpu_s, self.rate_mono_s = self.cpu_s, mono_s

    def _memory(self, anon_bytes: object, shmem_bytes: object, cache_bytes: object) -> None:
        if anon_bytes is None:
            return
        self.no_shmem = shmem_bytes is None
        used = anon_bytes + (shmem_bytes or 0)
        self.anon_min = used if self.anon_min is None or used < self.anon_min else self.anon_min
        self.anon_max = _larger(self.anon_max, used)
        self.anon_sum += used
        self.mem_samples += 1
        if cache_bytes is not None and shmem_bytes is not None:
            self.file_max = _larger(self.file_max, max(0, cache_bytes - shmem_bytes))

    def _stat_v1(self, text: bytes) -> None:
        self._memory(
            number_after(text, b"\ntotal_rss "),
            number_after(text, b"\ntotal_shmem "),
            number_after(text, b"\ntotal_cache "),
        )
        self.swap_max = _larger(self.swap_max, number_after(text, b"\ntotal_swap "))

    def _stat_v2(self, text: bytes) -> None:
        text = b"\n" + text
        self._memory(number_after(text, b"\nanon "), number_after(text, b"\nshmem "), number_after(text, b"\nfile "))

    def _peak(self, text: bytes) -> None:
        self.peak_bytes = _larger(self.peak_bytes, whole(text))

    def _swap(self, text: bytes) -> None:
        self.swap_max = _larger(self.swap_max, whole(text))

    def _cpuacct(self, text: bytes) -> None:
        used_ns = whole(text)
        self.counted = True
        self.cpu_s = self.cpu_s if used_ns is None else used_ns / 1e9

    def _cpu_v2(self, text: bytes) -> None:
        text = b"\n" + text
        used_us, throttled_us = number_after(text, b"\nusage_usec "), number_after(text, b"\nthrottled_usec ")
        self.counted = self.counted or used_us is not None
        self.cpu_s = self.cpu_s if used_us is None else used_us / 1e6
        self.throttled_s = self.throttled_s if throttled_us is None else throttled_us / 1e6

    def _throttled_v1(self, text: bytes) -> None:
        throttled_ns = number_after(b"\n" + text, b"\nthrottled_time ")
        self.throttled_s = self.throttled_s if throttled_ns is None else throttled_ns / 1e9

    def _events_v2(self, text: bytes) -> None:
        self.oom_kills = _larger(self.oom_kills, number_after(b"\n" + text, b"\noom_kill "))

    def _blkio(self, text: bytes) -> None:
        words = text.split()
        self.read_bytes = sum(int(words[at + 1]) for at, word in enumerate(words[:-1]) if word == b"Read")
        self.write_bytes = sum(int(words[at + 1]) for at, word in enumerate(words[:-1]) if word == b"Write")

    def _io_v2(self, text: bytes) -> None:
        words = text.split()
        self.read_bytes = sum(int(word[7:]) for word in words if word.startswith(b"rbytes="))
        self.write_bytes = sum(int(word[7:]) for word in words if word.startswith(b"wbytes="))

    def _count_kills(self) -> None:
        """v1 counts a kill only in the cgroup the killed process sat in, which goes with its step: so steps and tasks
        are looked at one by one once the job has met its limit, and what is not found then is not known."""
        if self.peak_bytes + _NEAR_LIMIT_BYTES >= self.limit_bytes:
            _kills_below(self.folders["memory"], self.kills, 4)
            self.oom_kills = sum(self.kills.values()) or None
        elif not self.kills:
            self.oom_kills = 0


def _kills_below(folder: str, kills: dict, depth: int) -> None:
    if os.path.islink(folder):
        return
    text = read_or_none(folder + "/memory.oom_control")
    count = None if text is None else number_after(b"\n" + text, b"\noom_kill ")
    if count is not None:
        kills[folder] = count
    if depth:
        for name in names(folder):
            if is_group(name):
                _kills_below(folder + "/" + name, kills, depth - 1)


def _larger(known: object, value: object) -> object:
    if value is None:
        return known
    return value if known is None or value > known else known


def _added(total: object, before: float) -> object:
    """What was added since `before`; a counter that fell says nothing less than 0."""
    return None if total is None else max(0, total - before)


def _or(value: object, otherwise: float) -> object:
    return otherwise if value is None else value


_CPU_SOURCES = {1: "cpuacct", 2: "cgroup2"}
# (name, controller, file) of what is read at every sample.
_FILES = {
    1: (
        ("stat1", "memory", "memory.stat"),
        ("peak", "memory", "memory.max_usage_in_bytes"),
        ("cpu", "cpuacct", "cpuacct.usage"),
        ("throttled1", "cpu", "cpu.stat"),
        ("io1", "blkio", "blkio.throttle.io_service_bytes_recursive"),
    ),
    2: (
        ("stat2", "", "memory.stat"),
        ("peak", "", "memory.peak"),
        ("swap", "", "memory.swap.current"),
        ("cpu", "", "cpu.stat"),
        ("events2", "", "memory.events"),
        ("io2", "", "io.stat"),
    ),
}
_READERS = {
    "stat1": Job._stat_v1,
    "stat2": Job._stat_v2,
    "peak": Job._peak,
    "swap": Job._swap,
    "cpu": lambda job, text: job._cpuacct(text) if job.place.version == 1 else job._cpu_v2(text),
    "throttled1": Job._throttled_v1,
    "events2": Job._events_v2,
    "io1": Job._blkio,
    "io2": Job._io_v2,
}
