"""Adds up what polls of a card (or MIG device) gave while one holder had it: a row of the segment. Touches nothing."""

GPU = (
    "uuid minor index from_s to_s samples util_mean util_min util_max util_samples mem_bytes_min mem_bytes_mean"
    " mem_bytes_max mem_total_bytes mem_reserved_bytes power_w_mean power_w_max energy_j sm_clock_mhz_mean"
    " temperature_c_max throttle_bits throttled_s ecc_uncorrected ecc_corrected mig processes_max sm_active_mean"
    " graphics_active_mean tensor_active_mean dram_active_mean pcie_rx_bytes pcie_tx_bytes nvlink_rx_bytes"
    " nvlink_tx_bytes holder holder_source"
).split()
GPU_JOB = "uuid job from_s to_s mem_bytes_max processes_max".split()
MIG = (
    "uuid mig_uuid gi ci slices memory_slices from_s to_s samples mem_bytes_max mem_total_bytes processes_max holder"
    " sm_active_mean"
).split()

# Clock event reasons that count as throttled time. Not the software power cap (a card at its power limit does what it
# was bought for), not idle, not clocks that someone set.
THROTTLED = (
    (0x08, "hardware slowdown"),
    (0x20, "software thermal slowdown"),
    (0x40, "hardware thermal slowdown"),
    (0x80, "hardware power brake"),
)
THROTTLED_BITS = sum(bit for bit, _ in THROTTLED)


class Amount:
    """Least, largest and weighted mean of the values given; all None while there is none."""

    __slots__ = ("count", "least", "most", "total", "weight")

    def __init__(self) -> None:
        """Start empty."""
        self.count, self.total, self.weight, self.least, self.most = 0, 0.0, 0.0, None, None

    def add(self, value: object, weight: float = 1.0) -> None:
        """Count a value for so much (None is no value)."""
        if value is None or weight <= 0:
            return
        self.count += 1
        self.total += value * weight
        self.weight += weight
        self.least = value if self.least is None or value < self.least else self.least
        self.most = value if self.most is None or value > self.most else self.most

    def mean(self) -> object:
        """The weighted mean, or None."""
        return self.total / self.weight if self.weight else None


def larger(one: object, other: object) -> object:
    """The larger of two values of which either may be None."""
    return other if one is None else one if other is None else max(one, other)


def plus(one: object, other: object) -> object:
    """The sum, None when nothing was given."""
    return other if one is None else one if other is None else one + other


class Span:
    """One card from `from_s` on, while `holder` (job ids, comma separated, or None when not known) does not change."""

    def __init__(self, from_s: float, holder: object, source: object) -> None:
        """Start empty."""
        self.from_s, self.holder, self.source = from_s, holder, source
        self.samples, self.util_samples = 0, 0
        self.util, self.mem, self.power, self.clock = Amount(), Amount(), Amount(), Amount()
        self.profiling = {}  # column -> Amount
        self.total = self.reserved = self.temperature = self.processes = self.mig = None
        self.reasons = self.throttled_s = self.ecc_bad = self.ecc_good = None
        self.counters, self.broken = {}, set()  # column -> what it went on by; columns not known throughout
        self.jobs = {}  # job -> [largest memory, most processes]

    def poll(self, reading: object, per_job: dict) -> None:
        """Count what the card showed at the moment of a poll."""
        self.samples += 1
        self.mem.add(reading.mem_bytes)
        self.power.add(reading.power_w)
        self.clock.add(reading.sm_clock_mhz)
        self.total = larger(self.total, reading.mem_total_bytes)
        self.reserved = larger(self.reserved, reading.mem_reserved_bytes)
        self.temperature = larger(self.temperature, reading.temperature_c)
        self.mig = reading.mig
        if reading.reasons is not None:
            self.reasons = (self.reasons or 0) | reading.reasons
        if reading.processes is not None:
            self.processes = larger(self.processes, len(reading.processes))
        self.ecc_bad = larger(self.ecc_bad, reading.ecc_uncorrected)
        self.ecc_good = larger(self.ecc_good, reading.ecc_corrected)
        for job, (size, count) in per_job.items():
            known = self.jobs.setdefault(job, [None, 0])
            known[0] = larger(known[0], size)
            known[1] = max(known[1], count)

    def gpu_row(self, uuid: str, minor: object, index: int, to_s: float) -> tuple:
        """The fields of a `gpu` line."""
        energy_j, nvlink_rx, nvlink_tx = [
            None if name in self.broken else self.counters.get(name)
            for name in ("energy_j", "nvlink_rx_bytes", "nvlink_tx_bytes")
        ]
        shares = [self.profiling[name].mean() if name in self.profiling else None for name in GPU[26:30]]
        return (
            uuid,
            minor,
            index,
            self.from_s,
            to_s,
            self.samples,
            self.util.mean(),
            self.util.least,
            self.util.most,
            self.util_samples or None,
            self.mem.least,
            None if self.mem.mean() is None else round(self.mem.mean()),
            self.mem.most,
            self.total,
            self.reserved,
            self.power.mean(),
            self.power.most,
            energy_j,
            self.clock.mean(),
            self.temperature,
            self.reasons,
            self.throttled_s,
            self.ecc_bad,
            self.ecc_good,
            self.mig,
            self.processes,
            *shares,
            None,  # PCIe: the driver watches the bus for 20 ms to answer, on each card; not asked
            None,
            None if nvlink_rx is None else int(nvlink_rx),
            None if nvlink_tx is None else int(nvlink_tx),
            self.holder,
            self.source,
        )

    def job_rows(self, uuid: str, to_s: float) -> object:
        """The fields of the `gpu_job` lines."""
        for job in sorted(self.jobs):
            size, count = self.jobs[job]
            yield (uuid, job, self.from_s, to_s, size, count)


class MigSpan:
    """One MIG device while its holder does not change."""

    def __init__(self, from_s: float, holder: object) -> None:
        """Start empty."""
        self.from_s, self.holder = from_s, holder
        self.samples, self.used, self.total, self.processes = 0, None, None, None

    def poll(self, used: object, total: object, processes: object) -> None:
        """Count what it showed at the moment of a poll."""
        self.samples += 1
        self.used, self.total = larger(self.used, used), larger(self.total, total)
        self.processes = larger(self.processes, None if processes is None else len(processes))

    def row(self, uuid: str, device: object, to_s: float) -> tuple:
        """The fields of a `mig` line; memory slices and activity are told to nobody but root."""
        return (
            uuid,
            device.uuid,
            device.gi,
            device.ci,
            device.slices,
            None,
            self.from_s,
            to_s,
            self.samples,
            self.used,
            self.total,
            self.processes,
            self.holder,
            None,
        )
