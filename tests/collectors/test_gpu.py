"""What the collector's GPU part makes of a driver: the real bindings on a scripted library, under every Python found.

Times are seconds since the script's start, which is epoch START. The cards are polled every 10 s unless said.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pynvml
import pytest

from audit.fleet.bindings import cut_down
from tests.collectors.nvml import build, build_dcgm, cards, uuid, write
from tests.collectors.nvml.pythons import WANTED, interpreter
from tests.collectors.program import install, tree

HERE = Path(__file__).parent
COLLECTORS = HERE.parents[1] / "collectors"
WHOLE = Path(pynvml.__file__).parent
START = 1_700_000_000.0
GIB = 1 << 30


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bindings as they go to the nodes: cut down to what the collector calls."""
    folder = tmp_path_factory.mktemp("bindings")
    sources = [path.read_text() for path in (COLLECTORS / "audit_collector").glob("*.py")]
    (folder / "pynvml.py").write_text(cut_down(Path(pynvml.__file__).read_text(), sources))
    return folder


@pytest.fixture
def watch(tmp_path, library):
    """watch(steps, *script lines) -> {"events", "dcgm": events on DCGM, "rows", "summary"}."""

    def run(steps, *lines, python=None, bindings=WHOLE, library=library, sample_s=10.0, root="/"):
        script = tmp_path / "script"
        todo = {
            "path": [str(COLLECTORS), str(bindings)],
            "script": str(script),
            "library": library and str(library),
            "root": str(root),
            "sample_s": sample_s,
            "start": START,
            "steps": [("script", text(*lines)), *steps],
        }
        done = subprocess.run(  # noqa: PLW1510 — its words are shown when it fails
            [python or interpreter("3.11"), "-B", "-X", "utf8", str(HERE / "nvml" / "watch.py")],
            input=json.dumps(todo),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        seen = json.loads(done.stdout)
        seen["dcgm"] = [text for kind, text in seen["events"] if kind == "dcgm_absent"]
        seen["events"] = [event for event in seen["events"] if event[0] != "dcgm_absent"]
        return seen

    return run


def text(*lines: str) -> str:
    return "".join(f"{line}\n" for line in ("clock manual", f"start {START}", *lines))


def polls(*times: float) -> list[Any]:
    return [("poll", float(t)) for t in times]


def minute(first: int = 0) -> list[Any]:
    """Seven polls, 10 s apart, and the rows of the minute."""
    return [*polls(*range(first, first + 61, 10)), ("rows", [first, first + 60])]


def of(rows: list[dict[str, Any]], kind: str, card: int = 0) -> list[dict[str, Any]]:
    return [row for row in rows if row["kind"] == kind and row["uuid"] == uuid(card)]


CURVES = (
    # A ramp from 0 to 100 % in the minute; memory from 10 GiB up to 50 GiB and back to 10 GiB.
    "gpu 0 util 0:0 60:100",
    f"gpu 0 used 0:{10 * GIB} 30:{50 * GIB} 60:{10 * GIB}",
    "gpu 0 power 0:100 30:100 30:400",
    "gpu 0 clock 0:1410",
    "gpu 0 temperature 0:40 30:70 60:40",
    "gpu 0 ecc_corrected 0:3",
    "gpu 0 nvlink_rx 0:1000 60:61000",
    "gpu 0 nvlink_tx 0:0 60:600",
    "gpu 0 process 4242 1000000 0 1e9",
    "gpu 0 process 4243 3000000 20 40",
    "gpu 0 graphics 77 5000000 0 1e9",
    # One second of work between two polls, and nothing else.
    "gpu 1 util 0:0 33:0 33:100 34:100 34:0",
)


@pytest.mark.parametrize("version", WANTED)
def test_a_minute_of_two_cards(watch, bundled, version):
    steps = [("jobs", {"pids": {"4242": "17", "4243": "17", "77": None}}), *minute()]
    seen = watch(steps, *cards(2), *CURVES, python=interpreter(version), bindings=bundled)
    assert seen["events"] == []
    assert {key: seen["summary"][key] for key in ("gpus", "nvml", "driver")} == {
        "gpus": 2,
        "nvml": "ok",
        "driver": "550.54.15",
    }
    (row,), (other,) = of(seen["rows"][0], "gpu"), of(seen["rows"][0], "gpu", 1)
    exact = {
        "minor": 0,
        "index": 0,
        "from_s": START,
        "to_s": START + 60,
        "samples": 7,
        "util_samples": 600,  # one each 0.1 s
        "mem_bytes_min": 10 * GIB,
        "mem_bytes_max": 50 * GIB,
        "mem_total_bytes": 80 * GIB,
        "mem_reserved_bytes": 1 << 29,
        "power_w_max": 400,
        "energy_j": 30 * 100 + 30 * 400,
        "sm_clock_mhz_mean": 1410,
        "temperature_c_max": 70,
        "throttle_bits": 1,
        "throttled_s": 0,
        "ecc_corrected": 3,
        "ecc_uncorrected": 0,
        "mig": 0,
        "processes_max": 3,
        "nvlink_rx_bytes": 60_000 * 1024,
        "nvlink_tx_bytes": 600 * 1024,
        "pcie_rx_bytes": None,
        "sm_active_mean": None,
        "holder": "17",
        "holder_source": "processes",
    }
    assert {key: row[key] for key in exact} == exact
    assert row["util_mean"] == pytest.approx(50, rel=0.01)
    assert (row["util_min"], row["util_max"]) == (0, 100)
    # Polls see 10, 23.3, 36.7, 50, 36.7, 23.3 and 10 GiB.
    assert row["mem_bytes_mean"] == pytest.approx((2 * (10 + 70 / 3 + 110 / 3) + 50) / 7 * GIB, rel=1e-6)
    assert row["power_w_mean"] == pytest.approx((3 * 100 + 4 * 400) / 7)
    (job,) = of(seen["rows"][0], "gpu_job")
    assert (job["job"], job["mem_bytes_max"], job["processes_max"]) == ("17", 4_000_000, 2)
    assert other["util_mean"] == pytest.approx(100 / 60, rel=0.01)
    assert other["util_max"] == 100
    assert (other["holder"], other["processes_max"]) == (None, 0)


def test_the_next_interval_begins_where_the_last_ended(watch):
    steps = [*minute(), *polls(70, 80, 90, 100, 110, 120), ("rows", [60, 120])]
    seen = watch(steps, *cards(1), "gpu 0 util 0:20 60:20 60:80")
    first, second = (of(rows, "gpu")[0] for rows in seen["rows"])
    assert (second["from_s"], second["to_s"], second["samples"]) == (START + 60, START + 120, 6)
    assert (first["util_mean"], second["util_mean"]) == (20, 80)
    assert second["util_samples"] == 600
    assert (first["energy_j"], second["energy_j"]) == (70 * 60, 70 * 60)


def test_what_fell_out_of_the_drivers_buffer_is_not_made_up(watch):
    """Of 20 s between two polls the buffer holds the last 12: 6 s busy, 6 s idle; the 8 s before were idle."""
    steps = [*polls(0, 20), ("rows", [0, 20])]
    (row,) = of(watch(steps, *cards(1), "gpu 0 util 0:0 8:0 8:100 14:100 14:0")["rows"][0], "gpu")
    assert row["util_samples"] == 120
    assert row["util_mean"] == pytest.approx(50, rel=0.01)


def test_the_clock_is_set_back_by_an_hour(watch):
    steps = [*polls(0, 10, 20), ("rows", [0, 20]), ("clock", -3600.0)]
    again = [
        ("script", text(f"start {START - 3600}", *cards(1), "gpu 0 util 0:70")),
        *polls(30, 40, 50),
        ("rows", [30, 50]),
    ]
    first, second = watch([*steps, *again], *cards(1), "gpu 0 util 0:70")["rows"]
    assert [of(rows, "gpu")[0]["util_mean"] for rows in (first, second)] == [70, 70]
    assert (of(second, "gpu")[0]["from_s"], of(second, "gpu")[0]["samples"]) == (START - 3600 + 30, 3)


# An odd driver: script lines, then what one card's row of a minute shows.
ODD = {
    "no buffer of activity samples: the rate of each poll": (
        ["fail nvmlDeviceGetSamples 0 3", "gpu 0 util 0:10 60:70"],
        # The poll at 10 s says 20 for the 10 s before it, …, the one at 60 s says 70.
        {"util_mean": 45, "util_min": 20, "util_max": 70, "util_samples": None},
    ),
    "no activity at all": (
        ["fail nvmlDeviceGetSamples 0 3", "fail nvmlDeviceGetUtilizationRates 0 3"],
        {"util_mean": None, "util_min": None, "util_max": None, "util_samples": None, "samples": 7},
    ),
    "numbers that mean that there is none": (
        [
            f"gpu 0 temperature 0:{0xFFFFFFFF}",
            f"gpu 0 clock 0:{0xFFFFFFFF}",
            f"gpu 0 util 0:{0xFFFFFFFF}",
            f"gpu 0 reasons 0:{0xFFFFFFFF}",
        ],
        {
            "temperature_c_max": None,
            "sm_clock_mhz_mean": None,
            "util_mean": None,
            "throttle_bits": None,
            "throttled_s": None,
        },
    ),
    "a process whose memory the driver does not tell": (
        ["gpu 0 process 4242 unknown"],
        {"processes_max": 1, "holder": "17"},
    ),
    "no right to list processes": (
        [f"fail nvmlDeviceGet{kind}RunningProcesses_v{v} 0 4" for kind in ("Compute", "Graphics") for v in (2, 3)],
        {"processes_max": None, "holder": None, "holder_source": None},
    ),
    "slowed down by the hardware for the last 30 s": (
        ["gpu 0 reasons 0:4 30:4 30:8"],  # 4: its own power limit, which is not counted
        {"throttle_bits": 12, "throttled_s": 40},  # the poll at 30 s stands for the 10 s before it
    ),
    "nothing but memory": (
        [
            f"gpu 0 used 0:{GIB}",
            *(f"fail nvmlDeviceGet{call} 0 3" for call in ("PowerUsage", "TotalEnergyConsumption", "TotalEccErrors")),
            *(f"fail nvmlDeviceGet{call} 0 3" for call in ("ClockInfo", "Temperature")),
        ],
        {
            "mem_bytes_max": GIB,
            "power_w_mean": None,
            "power_w_max": None,
            "energy_j": None,
            "sm_clock_mhz_mean": None,
            "temperature_c_max": None,
            "ecc_corrected": None,
            "ecc_uncorrected": None,
        },
    ),
    "an energy counter that was not told for a while": (
        ["fail nvmlDeviceGetTotalEnergyConsumption 0 999 25 35"],
        {"energy_j": None},
    ),
    "its number in /dev is not its index": (["gpu 0 minor 5"], {"minor": 5, "index": 0}),
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_drivers(watch, odd):
    lines, expected = ODD[odd]
    steps = [("jobs", {"pids": {"4242": "17"}}), *minute()]
    (row,) = of(watch(steps, *cards(1), *lines)["rows"][0], "gpu")
    assert {key: row[key] for key in expected} == pytest.approx(expected)


def test_an_old_driver_lacks_calls(watch, tmp_path):
    missing = (
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetGraphicsRunningProcesses_v3",
        "nvmlDeviceGetTotalEnergyConsumption",
        "nvmlDeviceGetMigMode",
        "nvmlDeviceGetFieldValues",
    )
    steps = [("jobs", {"pids": {"4242": "17"}}), *minute()]
    lines = [*cards(1), f"gpu 0 used 0:{GIB}", "gpu 0 process 4242 1000"]
    seen = watch(steps, *lines, library=build(tmp_path, missing))
    (row,) = of(seen["rows"][0], "gpu")
    assert row["mem_bytes_max"] == GIB + (1 << 29)  # the older call counts what the driver keeps for itself as used
    assert (row["mem_reserved_bytes"], row["energy_j"], row["mig"]) == (None, None, 0)
    assert (row["throttle_bits"], row["holder"]) == (1, "17")
    assert set(missing) == set(seen["summary"]["not_read"])
    assert sorted({kind for kind, _ in seen["events"]}) == ["degraded"]


def test_a_partitioned_card(watch):
    lines = [
        *cards(1),
        "gpu 0 mig 1",
        f"gpu 0 instance MIG-a 1 0 3 4 {40 * GIB}",
        f"gpu 0 instance MIG-b 2 0 2 2 {20 * GIB}",
        f"gpu 0 instance_used 0 0:0 30:{30 * GIB} 60:0",
        f"gpu 0 instance_used 1 0:{GIB}",
        "gpu 0 process 4242 1000 0 1e9 1 0",
        "gpu 0 process 5252 2000 0 1e9 2 0",
    ]
    steps = [("jobs", {"pids": {"4242": "17", "5252": "18"}}), *minute()]
    rows = watch(steps, *lines)["rows"][0]
    (card,) = of(rows, "gpu")
    assert (card["mig"], card["util_mean"], card["util_samples"], card["holder"]) == (1, None, None, "17,18")
    told = ("gi", "ci", "slices", "mem_bytes_max", "mem_total_bytes", "processes_max", "holder", "samples")
    devices = {row["mig_uuid"]: tuple(row[key] for key in told) for row in of(rows, "mig")}
    assert devices == {
        "MIG-a": (1, 0, 3, 30 * GIB, 40 * GIB, 1, "17", 7),
        "MIG-b": (2, 0, 2, GIB, 20 * GIB, 1, "18", 7),
    }
    assert {(row["job"], row["mem_bytes_max"]) for row in of(rows, "gpu_job")} == {("17", 1000), ("18", 2000)}


def test_a_card_is_lost_and_comes_back_while_the_other_goes_on(watch):
    steps = [*polls(*range(0, 181, 10)), ("rows", [0, 180])]
    seen = watch(steps, *cards(2), "gpu 1 util 0:50", "fail * 1 15 25 95")
    assert seen["events"] == [["gpu_lost", f"{uuid(1)} NVML_ERROR_GPU_IS_LOST"], ["gpu_back", uuid(1)]]
    assert [row["samples"] for row in of(seen["rows"][0], "gpu", 0)] == [19]
    before, after = of(seen["rows"][0], "gpu", 1)
    assert (before["from_s"], before["to_s"]) == (START, START + 20)
    # Seen lost at 30 s; tried a minute later, in vain, and a minute after that.
    assert (after["from_s"], after["to_s"]) == (START + 150, START + 180)
    assert before["energy_j"] == 70 * 20
    assert after["energy_j"] == 70 * 30


@pytest.mark.parametrize(("code", "name"), [(9, "NVML_ERROR_DRIVER_NOT_LOADED"), (999, "NVML_ERROR_UNKNOWN")])
def test_the_driver_dies_and_returns(watch, code, name):
    steps = [*polls(*range(0, 201, 10)), ("rows", [0, 200])]
    seen = watch(steps, *cards(2), f"fail * * {code} 25 75")
    lost = [[kind, text] for kind, text in seen["events"] if kind == "gpu_lost"]
    assert sorted(lost) == [["gpu_lost", f"{uuid(i)} {name}"] for i in (0, 1)]
    assert sorted(text for kind, text in seen["events"] if kind == "gpu_back") == [uuid(0), uuid(1)]
    for i in (0, 1):
        before, after = of(seen["rows"][0], "gpu", i)
        assert before["to_s"] == START + 20
        assert (after["from_s"] > START + 75, after["to_s"]) == (True, START + 200)
    assert seen["summary"]["nvml"] == "ok"


def test_a_driver_that_is_dead_at_the_start_is_tried_every_five_minutes(watch):
    steps = [*polls(*range(0, 601, 10)), ("rows", [0, 600])]
    seen = watch(steps, *cards(1), "fail nvmlInitWithFlags * 9 0 250")
    assert seen["events"] == [["gpu_absent", "NVML_ERROR_DRIVER_NOT_LOADED"]]
    (row,) = of(seen["rows"][0], "gpu")
    assert row["from_s"] == START + 300


def test_a_card_that_is_dead_at_the_start(watch):
    seen = watch([*polls(*range(0, 121, 10)), ("rows", [0, 120])], *cards(2), "fail * 1 15 0 50")
    assert seen["events"] == [["gpu_lost", "index 1 NVML_ERROR_GPU_IS_LOST"], ["gpu_back", uuid(1)]]
    assert [row["from_s"] - START for i in (0, 1) for row in of(seen["rows"][0], "gpu", i)] == [0, 60]


def test_a_driver_that_hangs_costs_its_own_values_only(watch):
    """The call at 10 s is out for 3 s of real time, a poll waits 1 s; the polls until 40 s find it still out."""
    steps = [*polls(0, 10, 20, 30, 40), ("wait", 3.0), *polls(50, 60), ("rows", [0, 60])]
    seen = watch(steps, *cards(1), "hang nvmlDeviceGetPowerUsage * 3 5 45", sample_s=2)
    assert [kind for kind, _ in seen["events"]] == ["gpu_lost", "gpu_back"]
    rows = of(seen["rows"][0], "gpu")
    assert [(row["from_s"] - START, row["to_s"] - START) for row in rows] == [(50, 60)]


def test_no_card_and_no_library(watch, tmp_path):
    steps = minute()
    assert watch(steps, library=None, root=tmp_path)["summary"]["nvml"] == "absent"
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidia0").touch()
    seen = watch(steps, library=None, root=tmp_path)
    assert (seen["rows"], seen["events"]) == ([[]], [["gpu_absent", "NVML_ERROR_LIBRARY_NOT_FOUND"]])


def devices_cgroup(folder: Path, listed: str) -> str:
    folder.mkdir(parents=True)
    (folder / "devices.list").write_text(listed)
    return str(folder)


def test_holders_from_devices_cgroups(watch, tmp_path):
    """Job 1 has the card that is /dev/nvidia5, whose index is 0; jobs 2 and 3 share the other; 4 is not confined."""
    jobs = [
        ["1", START, devices_cgroup(tmp_path / "job_1", "c 1:3 rwm\nc 195:255 rwm\nc 195:5 rwm\n")],
        ["2", START, devices_cgroup(tmp_path / "job_2", "c 195:1 rwm\n")],
        ["3", START, devices_cgroup(tmp_path / "job_3", "b 195:5 rwm\nc 195:1 rw\n")],
        ["4", START, devices_cgroup(tmp_path / "job_4", "a *:* rwm\n")],
        ["5", START, devices_cgroup(tmp_path / "job_5", "c 195:* rwm\n")],
        ["6", START, str(tmp_path / "gone")],
        ["7", START, None],
    ]
    (tmp_path / "job_8").mkdir()
    (tmp_path / "job_8/devices.list").symlink_to(tmp_path / "job_1/devices.list")  # followed nowhere
    jobs.append(["8", START, str(tmp_path / "job_8")])
    steps = [("jobs", {"jobs": jobs, "pids": {"4242": "9"}}), *minute()]
    rows = watch(steps, *cards(3), "gpu 0 minor 5", "gpu 0 process 4242 1000", "gpu 2 process 4242 2000")["rows"][0]
    told = [(row["holder"], row["holder_source"]) for i in range(3) for row in of(rows, "gpu", i)]
    assert told == [("1", "devices"), ("2,3", "devices"), ("9", "processes")]
    assert [row["job"] for i in (0, 2) for row in of(rows, "gpu_job", i)] == ["9", "9"]


def test_a_row_ends_where_the_holder_changes(watch, tmp_path):
    """Job 1 leaves between 20 and 30 s; job 2's cgroup was made at 34 s: busy from then on."""
    one = ["1", START, devices_cgroup(tmp_path / "job_1", "c 195:0 rwm\n")]
    two = ["2", START + 34, devices_cgroup(tmp_path / "job_2", "c 195:0 rwm\n")]
    steps = [
        ("jobs", {"jobs": [one]}),
        *polls(0, 10, 20),
        ("jobs", {"jobs": []}),
        *polls(30),
        ("jobs", {"jobs": [two]}),
        *polls(40, 50, 60),
        ("rows", [0, 60]),
    ]
    rows = of(watch(steps, *cards(1), "gpu 0 util 0:40 20:40 20:0 34:0 34:90", "gpu 0 power 0:100")["rows"][0], "gpu")
    shown = [(row["holder"], row["from_s"] - START, row["to_s"] - START, row["util_max"]) for row in rows]
    assert shown == [("1", 0, 30, 40), (None, 30, 34, 0), ("2", 34, 60, 90)]
    assert rows[0]["util_mean"] == pytest.approx(40 * 20 / 30, rel=0.01)
    assert rows[2]["util_mean"] == pytest.approx(90)
    assert [row["energy_j"] for row in rows] == pytest.approx([3000, 400, 2600])


def engine(tmp_path: Path) -> Path:
    """A root in which something listens on the port of DCGM's host engine."""
    (tmp_path / "root/proc/net").mkdir(parents=True)
    line = "   0: 0100007F:15B3 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345"
    (tmp_path / "root/proc/net/tcp").write_text(f"  sl  local_address rem_address   st\n{line}\n")
    return tmp_path / "root"


def shares(at_s: float, **values: float) -> str:
    """The engine's values for card 7 (the first card): `f1002=0.5` is field 1002."""
    lines = [f"value 7 {name[1:]} {value} {int((START + at_s) * 1e6)}" for name, value in values.items()]
    return "\n".join([f"gpu 3 {uuid(1)}", f"gpu 7 {uuid(0)}", *lines]) + "\n"


@pytest.fixture
def dcgm(tmp_path, monkeypatch):
    monkeypatch.setenv("AUDIT_DCGM_LIBRARY", str(build_dcgm(tmp_path)))
    monkeypatch.setenv("AUDIT_DCGM_SCRIPT", str(tmp_path / "dcgm"))
    return engine(tmp_path)


def test_profiling_fields_that_the_engine_watches(watch, dcgm):
    """Values of the engine at 0, 15 and 45 s: 0.8 stands for 15 s, 0.2 for 30 s. A share above 1 is none."""
    steps = [
        ("dcgm", shares(0, f1002=0.5, f1005=0.5, f1004=140737488355328.0)),
        *polls(0, 10),
        ("dcgm", shares(15, f1002=0.8, f1005=0.0, f1004=140737488355328.0)),
        *polls(20, 30, 40),
        ("dcgm", shares(45, f1002=0.2, f1005=0.6, f1004=140737488355328.0)),
        *polls(50, 60),
        ("rows", [0, 60]),
    ]
    seen = watch(steps, *cards(2), root=dcgm)
    told = ("sm_active_mean", "dram_active_mean", "tensor_active_mean", "graphics_active_mean")
    (row,), (other,) = of(seen["rows"][0], "gpu"), of(seen["rows"][0], "gpu", 1)
    assert [row[key] for key in told] == [pytest.approx(0.4), pytest.approx(0.4), None, None]
    assert [other[key] for key in told] == [None] * 4
    assert (seen["summary"]["dcgm"], seen["dcgm"]) == ("ok", [])


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (shares(0), "not watched"),
        ("refuse\n", "-21"),
        (shares(0, f1002=0.5) + "layout 50335768\n", "layout"),
    ],
)
def test_an_engine_that_does_not_tell(watch, dcgm, script, why):
    seen = watch([("dcgm", script), *minute()], *cards(1), root=dcgm)
    (row,) = of(seen["rows"][0], "gpu")
    assert (row["samples"], row["sm_active_mean"]) == (7, None)
    assert len(seen["dcgm"]) == 1
    assert why in seen["dcgm"][0]
    assert why in seen["summary"]["dcgm"]


def test_no_engine(watch, tmp_path):
    seen = watch(minute(), *cards(1), root=tmp_path)
    assert (seen["dcgm"], seen["summary"]["dcgm"]) == (["absent"], "absent")


def test_an_engine_that_ends_and_returns(watch, dcgm):
    steps = [("dcgm", shares(0, f1002=0.5)), *polls(0), ("dcgm", "refuse\n"), *polls(10, 20)]
    steps += [
        ("dcgm", shares(300, f1002=0.5)),
        *polls(320),
        ("dcgm", shares(330, f1002=0.7)),
        *polls(330),
        ("rows", [0, 330]),
    ]
    seen = watch(steps, *cards(1), root=dcgm)
    assert len(seen["dcgm"]) == 1
    assert seen["summary"]["dcgm"] == "ok"
    assert of(seen["rows"][0], "gpu")[0]["sm_active_mean"] is not None


def test_a_late_answer_still_counts(watch):
    """The call at 10 s answers after 1.5 s, when the poll has stopped waiting; the one at 20 s takes it up."""
    steps = [*polls(0, 10), ("wait", 1.5), *polls(20), ("rows", [0, 20])]
    seen = watch(steps, *cards(1), "gpu 0 util 0:30", "hang nvmlDeviceGetPowerUsage * 1.5 5 15", sample_s=2)
    assert seen["events"] == []
    (row,) = of(seen["rows"][0], "gpu")
    assert (row["samples"], row["util_samples"], row["util_mean"]) == (3, 200, 30)


@pytest.mark.parametrize("version", WANTED)
def test_the_program_on_a_node_writes_who_held_which_card(tmp_path, library, monkeypatch, version):
    """Job 31's cgroup allows card 1; process 4242 of job 32 computes on card 0."""
    monkeypatch.setenv("AUDIT_NVML_SCRIPT", str(tmp_path / "script"))
    write(tmp_path / "script", *cards(2), "gpu 0 process 4242 5000", "gpu 1 util 0:60")
    top = "sys/fs/cgroup"
    files = {
        f"{top}/{kind}/slurm/uid_7/job_{job}/cgroup.procs": "" for kind in ("memory", "freezer") for job in (31, 32)
    }
    files[f"{top}/devices/slurm/uid_7/job_31/devices.list"] = "c 195:1 rwm\n"
    files["proc/4242/cgroup"] = "9:freezer:/slurm/uid_7/job_32/step_0\n4:memory:/slurm/uid_7/job_32/step_0/task_0\n"
    node = install(tmp_path / "node", root=tree(tmp_path / "root", files), python=interpreter(version))
    node.window(2.5, nvml_library=str(library))
    done = node.do("run")
    assert (done.returncode, done.stderr) == (0, "")
    shown = {(row["uuid"], row["holder"], row["holder_source"]) for row in node.rows("gpu")}
    assert shown == {(uuid(0), "32", "processes"), (uuid(1), "31", "devices")}
    assert {(row["uuid"], row["job"], row["mem_bytes_max"]) for row in node.rows("gpu_job")} == {
        (uuid(0), "32", "5000")
    }
    assert {row["util_mean"] for row in node.rows("gpu") if row["uuid"] == uuid(1)} == {"60"}
