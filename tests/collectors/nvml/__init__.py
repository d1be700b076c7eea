"""A stand-in for NVIDIA's driver library, built with gcc and scripted by a text file: for tests and benchmarks.

    library = build(tmp_path)                      # libnvidia-ml.so.1 there
    script = write(tmp_path / "script", *cards(8), "gpu 0 util 0:0 10:100")
    os.environ["AUDIT_NVML_SCRIPT"] = str(script)  # read by the library, again whenever the file changes
    os.environ["AUDIT_NVML_LIBRARY"] = str(library)

Lines of a script; CURVE is `seconds:value …`, linear between points, two points at one time make a jump:
    driver VERSION | start EPOCH | period SECONDS | buffer SAMPLES | clock manual (then `at` sets the time)
    gpu N uuid TEXT | gpu N minor M | gpu N memory TOTAL [RESERVED] | gpu N mig 0|1|-1 (-1: cannot be partitioned)
    gpu N util|memory_util|used|power|clock|temperature|reasons|ecc_uncorrected|ecc_corrected|nvlink_rx|nvlink_tx CURVE
    gpu N process|graphics PID BYTES|unknown [FROM TO [GI CI]]
    gpu N instance UUID GI CI SLICES MEMORY_SLICES TOTAL | gpu N instance_used K CURVE
    fail CALL|* N|* NVML_ERROR [FROM TO] | hang CALL|* N|* SECONDS [FROM TO]
Units: percent, bytes, watts, MHz, degrees C, event-reason bits, KiB (nvlink).
"""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def build(target: Path, missing: Iterable[str] = ()) -> Path:
    """The driver's library, made in folder `target`, without the calls named in `missing` (an older driver)."""
    exports = target / "exports"
    hidden = "".join(f"{name};" for name in missing)
    local = f"local: {hidden}" if hidden else ""
    exports.write_text(f"{{ global: nvml*; {local} }};")
    return _compile(HERE / "nvml.c", target / "libnvidia-ml.so.1", f"-Wl,--version-script={exports}")


def build_dcgm(target: Path) -> Path:
    """DCGM's library, made in folder `target`; the collector loads it by AUDIT_DCGM_LIBRARY."""
    return _compile(HERE / "dcgm.c", target / "libdcgm.so.4")


def _compile(source: Path, library: Path, *options: str) -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    subprocess.run([compiler, "-O2", "-Wall", "-shared", "-fPIC", *options, "-o", library, source], check=True)
    return library


def uuid(index: int) -> str:
    """The UUID that `cards` gives a card."""
    return f"GPU-{index:08x}-0000-4000-8000-000000000000"


def cards(count: int, total: int = 80 << 30) -> list[str]:
    """Script lines for so many idle, ordinary cards."""
    return [
        line.replace("gpu", f"gpu {i}", 1)
        for i in range(count)
        for line in (
            f"gpu uuid {uuid(i)}",
            f"gpu minor {i}",
            f"gpu memory {total} {1 << 29}",
            "gpu power 0:70",
            "gpu clock 0:345",
            "gpu temperature 0:31",
            "gpu reasons 0:1",
        )
    ]


def write(script: Path, *lines: str) -> Path:
    """The script with these lines, replaced at once, so that the library never reads half of one."""
    new = script.with_name(script.name + ".new")
    new.write_text("".join(f"{line}\n" for line in lines))
    new.replace(script)
    return script


def at(script: Path, seconds: float) -> None:
    """With `clock manual`: it is now so many seconds since the start."""
    new = script.with_name(script.name + ".t.new")
    new.write_text(repr(seconds))
    new.replace(script.with_name(script.name + ".t"))
