"""NVIDIA's management library through its Python bindings: finds the cards and reads each once per poll.

Touches nothing but the driver library, and only reads. Every value a driver does not give is None, never 0.
The bindings (pynvml) are imported when a library is first opened, so that a node without GPUs does not pay for them.
"""

import ctypes

# A call that answered with one of these is not asked again on that card: the answer does not change by itself.
LASTING = ("NOT_SUPPORTED", "FUNCTION_NOT_FOUND", "NO_PERMISSION", "ARGUMENT_VERSION_MISMATCH", "DEPRECATED")
# One of these from any call and the card is gone; the second list: the whole driver.
LOST = ("GPU_IS_LOST", "RESET_REQUIRED", "GPU_NOT_FOUND")
DRIVER_LOST = ("UNINITIALIZED", "DRIVER_NOT_LOADED", "LIB_RM_VERSION_MISMATCH")
# What drivers put where they have no number.
NO_NUMBER = frozenset((0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 0x7FFFFFFF, 0x7FFFFFFFFFFFFFFF))
PROCESS_LISTS = (
    ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"),
    ("nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"),
)
SLOW_S = 60.0  # ECC counts and the MIG layout are asked for this often


class Failed(Exception):
    """A card, or the driver (`driver` true), does not answer; the text is NVML's name for it."""

    def __init__(self, text: str, driver: bool = False) -> None:
        """Keep NVML's name and whether the driver as a whole is meant."""
        super().__init__(text)
        self.driver = driver


class Reading:
    """What one poll of one card gave; a value that was not given is None."""

    __slots__ = (
        "ecc_corrected",
        "ecc_uncorrected",
        "energy_j",
        "index",
        "instances",
        "mem_bytes",
        "mem_reserved_bytes",
        "mem_total_bytes",
        "mig",
        "minor",
        "nvlink_rx_bytes",
        "nvlink_tx_bytes",
        "power_w",
        "processes",
        "profiling",
        "reasons",
        "sm_clock_mhz",
        "temperature_c",
        "util",
        "util_now",
        "uuid",
    )

    def __init__(self, uuid: str, minor: object, index: int) -> None:
        """Start with nothing else known."""
        for name in self.__slots__:
            setattr(self, name, None)
        self.uuid, self.minor, self.index = uuid, minor, index


def load(path: object) -> object:
    """The bindings with the driver library loaded and initialised; `path` None: the system's own. Raises Failed."""
    import pynvml

    try:
        if path is not None and pynvml.nvmlLib is None:
            pynvml.nvmlLib = ctypes.CDLL(path)
        pynvml.nvmlInitWithFlags(0)
    except OSError as error:
        raise Failed(str(error), True) from error
    except pynvml.NVMLError as error:
        raise Failed(error_name(pynvml, error), True) from error
    return pynvml


_error_names = {}  # code -> name


def error_name(nvml: object, error: object) -> str:
    """NVML's own name for an error, such as NVML_ERROR_GPU_IS_LOST."""
    if not _error_names:
        _error_names.update((getattr(nvml, name), name) for name in dir(nvml) if name.startswith("NVML_ERROR_"))
    return _error_names.get(error.value, "NVML_ERROR_%s" % error.value)


class Asker:
    """Asks one card or MIG device, remembering what it does not answer and counting what it does."""

    def __init__(self, nvml: object, handle: object, refused: dict) -> None:
        """`refused` (shared by the cards): call -> name of the lasting error, for the record."""
        self.nvml, self.handle, self.refused = nvml, handle, refused
        self.skip = set()
        self.answers, self.error = 0, None

    def ask(self, name: str, *arguments: object, known_as: object = None) -> object:
        """The call's answer, or None; raises Failed when it says that the card or the driver is gone.

        `known_as` tells apart two versions of a call that the bindings give one name.
        """
        if (known_as or name) in self.skip:
            return None
        nvml = self.nvml
        try:
            answer = getattr(nvml, name)(self.handle, *arguments)
        except (nvml.NVMLError, AttributeError, ValueError) as error:
            text = error_name(nvml, error) if isinstance(error, nvml.NVMLError) else "not in the bindings"
            self._refused(known_as or name, text)
            return None
        self.answers += 1
        return None if isinstance(answer, int) and answer in NO_NUMBER else answer

    def _refused(self, name: str, text: str) -> None:
        short = text.replace("NVML_ERROR_", "")
        if short in LOST or short in DRIVER_LOST:
            raise Failed(text, short in DRIVER_LOST)
        if short in LASTING or not text.startswith("NVML_"):
            self.skip.add(name)
            self.refused.setdefault(name, text)
        elif short not in ("NOT_FOUND", "NO_DATA"):
            self.error = text

    def first(self, *names: str) -> object:
        """The answer of the first of these calls (newer first) that the driver knows."""
        for name in names:
            if name not in self.skip:
                answer = self.ask(name)
                if answer is not None or name not in self.skip:
                    return answer
        return None

    def memory(self) -> tuple:
        """(used, total, reserved or None) in bytes, or Nones."""
        newer = "nvmlDeviceGetMemoryInfo_v2"
        info = self.ask("nvmlDeviceGetMemoryInfo", self.nvml.nvmlMemory_v2, known_as=newer)
        reserved = None if info is None else number(info.reserved)
        if info is None and newer in self.skip:
            info = self.ask("nvmlDeviceGetMemoryInfo")
        if info is None:
            return None, None, None
        return number(info.used), number(info.total), reserved

    def processes(self) -> object:
        """{pid: bytes or None} of everything that runs here; None when neither list is given."""
        found = None
        for newer, older in PROCESS_LISTS:
            listed = self.first(newer, older)
            if listed is None:
                continue
            found = {} if found is None else found
            for process in listed:
                size = number(process.usedGpuMemory)
                before = found.get(process.pid)
                # A process in both lists is shown with the same memory in each: the larger, never the sum.
                found[process.pid] = size if before is None else before if size is None else max(before, size)
        return found


def number(value: object) -> object:
    """The value, or None where it is one of the driver's ways to say that there is none."""
    return None if value is None or value in NO_NUMBER else value


class Card(Asker):
    """One physical GPU."""

    def __init__(self, nvml: object, handle: object, index: int, refused: dict) -> None:
        """Ask what does not change. Raises Failed when the card does not give even its UUID."""
        super().__init__(nvml, handle, refused)
        self.index = index
        self.uuid = self.ask("nvmlDeviceGetUUID")
        if self.uuid is None:
            raise Failed(self.error or "no UUID")
        self.minor = self.ask("nvmlDeviceGetMinorNumber")
        self.mig, self.instances = 0, []
        self.slow_at = None
        self.ecc = None, None  # uncorrected, corrected
        self.util_after_us = None

    def read(self, now_s: float, mono_s: float) -> Reading:
        """One Reading; raises Failed when the card is gone."""
        reading = Reading(self.uuid, self.minor, self.index)
        self.answers, self.error = 0, None
        if self.slow_at is None or mono_s - self.slow_at >= SLOW_S - 0.5:
            self.slow_at = mono_s
            self._slow()
        reading.mig = self.mig
        reading.ecc_uncorrected, reading.ecc_corrected = self.ecc
        self._nvlink(reading)
        reading.mem_bytes, reading.mem_total_bytes, reading.mem_reserved_bytes = self.memory()
        if not self.mig:
            reading.util = self._activity(now_s)
            if not reading.util:
                rates = self.ask("nvmlDeviceGetUtilizationRates")
                reading.util_now = rates.gpu if rates is not None and rates.gpu <= 100 else None
            reading.processes = self.processes()
        else:
            self._instances(reading)
        power = self.ask("nvmlDeviceGetPowerUsage")
        reading.power_w = None if power is None else power / 1000.0
        energy = self.ask("nvmlDeviceGetTotalEnergyConsumption")
        reading.energy_j = None if energy is None else energy / 1000.0
        reading.sm_clock_mhz = self.ask("nvmlDeviceGetClockInfo", self.nvml.NVML_CLOCK_SM)
        reading.temperature_c = self.ask("nvmlDeviceGetTemperature", self.nvml.NVML_TEMPERATURE_GPU)
        reading.reasons = self.first(
            "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"
        )
        if not self.answers:
            raise Failed(self.error or "no call is answered")
        return reading

    def _slow(self) -> None:
        counts = [self.ask("nvmlDeviceGetTotalEccErrors", kind, self.nvml.NVML_VOLATILE_ECC) for kind in (1, 0)]
        self.ecc = counts[0], counts[1]
        mode = self.ask("nvmlDeviceGetMigMode")
        self.mig = 1 if mode is not None and mode[0] == 1 else 0
        self.instances = self._mig_devices() if self.mig else []

    def _nvlink(self, reading: object) -> None:
        # Scope UINT_MAX: the sum over the card's links, in KiB.
        fields = self.ask("nvmlDeviceGetFieldValues", [(138, 0xFFFFFFFF), (139, 0xFFFFFFFF)])
        if fields is not None:
            for name, field in zip(("nvlink_tx_bytes", "nvlink_rx_bytes"), fields):
                value = number(field.value.ullVal) if field.nvmlReturn == 0 else None
                setattr(reading, name, None if value is None else value * 1024)
            if all(field.nvmlReturn == self.nvml.NVML_ERROR_NOT_SUPPORTED for field in fields):
                self.skip.add("nvmlDeviceGetFieldValues")

    def _activity(self, now_s: float) -> object:
        """The driver's own samples since the last poll: [(time in s, percent)], oldest first; None without a buffer."""
        if self.util_after_us is None or self.util_after_us > now_s * 1e6 + 1e6:
            # First poll, or the clock was set back: what is in the buffer now was before.
            self.util_after_us = int(now_s * 1e6)
            return None
        answer = self.ask("nvmlDeviceGetSamples", self.nvml.NVML_GPU_UTILIZATION_SAMPLES, self.util_after_us)
        if answer is None:
            return None
        after = self.util_after_us
        samples = sorted((s.timeStamp, s.sampleValue.uiVal) for s in answer[1])
        if samples and samples[-1][0] > after:
            self.util_after_us = samples[-1][0]
        return [(at / 1e6, value) for at, value in samples if at > after and value <= 100]

    def _mig_devices(self) -> list:
        known = {device.uuid: device for device in self.instances}
        found = []
        for index in range(self.ask("nvmlDeviceGetMaxMigDeviceCount") or 0):
            handle = self.ask("nvmlDeviceGetMigDeviceHandleByIndex", index)
            if handle is not None:
                device = MigDevice(self.nvml, handle, self.refused)
                if device.uuid is not None:
                    found.append(known.get(device.uuid, device))
        return found

    def _instances(self, reading: object) -> None:
        reading.instances, together = [], None
        for device in self.instances:
            used, total, _ = device.memory()
            processes = device.processes()
            reading.instances.append((device, used, total, processes))
            if processes is not None:
                together = {} if together is None else together
                for pid, size in processes.items():
                    known = together.get(pid)
                    together[pid] = size if known is None else known + (size or 0)
        reading.processes = together


class MigDevice(Asker):
    """One MIG device: a compute instance within a GPU instance."""

    def __init__(self, nvml: object, handle: object, refused: dict) -> None:
        """Ask what does not change while it exists."""
        super().__init__(nvml, handle, refused)
        self.uuid = self.ask("nvmlDeviceGetUUID")
        self.gi = self.ask("nvmlDeviceGetGpuInstanceId")
        self.ci = self.ask("nvmlDeviceGetComputeInstanceId")
        attributes = self.ask("nvmlDeviceGetAttributes_v2")
        self.slices = None if attributes is None else number(attributes.gpuInstanceSliceCount)
