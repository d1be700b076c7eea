"""The life of a collector on its node: ends, kills, restarts, full disks, stepped clocks. The real zip, real processes."""

import gzip
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cluster import clock
from tests.collectors.program import Installed, install, rows, tree
from tests.collectors.test_layouts import JOB, V1, cpuacct, memory_v1

sys.path.append(str(Path(__file__).parents[2] / "collectors"))
from audit_collector.segments import close_left_over, member
from audit_collector.spool import Spool

ROOT = os.geteuid() == 0


@pytest.fixture
def collector(tmp_path: Path) -> Installed:
    return install(tmp_path / "c", root=tree(tmp_path / "root", memory_v1() | cpuacct()))


def until(condition, limit_s: float = 15.0) -> None:
    end_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.02)


def spans(collector: Installed, kind: str = "interval") -> list[tuple[float, float]]:
    return [(float(row["from_s"]), float(row["to_s"])) for row in collector.rows(kind)]


def written(collector: Installed) -> int:
    path = collector.spool / "open.seg"
    return path.stat().st_size if path.exists() else 0


def test_the_window_ends_and_so_does_the_collector(collector: Installed) -> None:
    collector.window(2.2)
    assert collector.do("run").returncode == 0
    assert collector.events() == ["start", "window_end"]
    told = collector.status()
    assert (told["alive"], told["ended"], told["gap_count"], told["segments_closed"]) == (False, "window", 0, 1)
    assert told["coverage"] > 0.9
    found = spans(collector)
    assert [start for start, _ in found[1:]] == [end for _, end in found[:-1]]
    # Intervals end at whole seconds of wall time, the last one at the window's end.
    assert all(end == int(end) for _, end in found[:-1])
    assert abs(found[-1][1] - told["window_to_s"]) < 0.3


def test_a_window_that_ended_while_it_was_off_leaves_all_as_it_was(collector: Installed) -> None:
    collector.window(60)
    running = collector.start()
    until(lambda: written(collector))
    running.kill()
    running.wait()
    before = gzip.decompress((collector.spool / "open.seg").read_bytes())
    collector.window(-0.5)
    assert collector.do("run").returncode == 0
    (segment,) = collector.segments()
    assert gzip.decompress(segment.read_bytes()) == before
    assert collector.status()["ended"] == "window"


def test_asked_to_end_it_writes_what_it_has(collector: Installed) -> None:
    collector.window(60, interval_s=50)
    running = collector.start()
    until(lambda: collector.status()["alive"])
    time.sleep(0.7)
    running.terminate()
    assert running.wait(10) == 0
    assert collector.events() == ["start", "stop"]
    assert len(collector.rows("interval")) == 1 or len(collector.rows("interval")) == 2
    assert collector.rows("job")[-1]["cpu_s"] in {"5.5", "0"}
    assert collector.status()["ended"] == "stopped"


def test_killed_again_and_again_it_loses_intervals_and_counts_nothing_twice(collector: Installed) -> None:
    begin_s = time.time() - 1
    collector.window(60, from_s=begin_s)
    for wait_s in (1.3, 0.9, 1.7, 0.4):
        running = collector.start()
        time.sleep(wait_s)
        running.kill()
        running.wait()
    collector.window(1.5, from_s=begin_s)
    assert collector.do("run").returncode == 0
    assert {row["reason"] for row in collector.rows("gap")} == {"killed"}
    # The cgroup counted 5.5 s in all, before the first sample; whatever was lost, it is there once.
    assert sum(float(row["cpu_s"]) for row in collector.rows("job")) == 5.5
    # Intervals and gaps tile the time since the first start.
    tiles = sorted(spans(collector) + spans(collector, "gap"))
    assert [start for start, _ in tiles[1:]] == [end for _, end in tiles[:-1]]
    assert collector.status()["gap_count"] == len(collector.rows("gap"))


def test_killed_as_soon_as_it_has_healed_it_goes_on_from_what_was_written(collector: Installed) -> None:
    """Killed between writing an interval and saving its state; and once more when the segment had its name."""
    begin_s = time.time() - 1
    collector.window(60, from_s=begin_s)
    running = collector.start()
    until(lambda: written(collector))
    state = (collector.spool / "state").read_bytes()
    size_bytes = written(collector)
    until(lambda: written(collector) > size_bytes)
    running.kill()
    running.wait()
    (collector.spool / "state").write_bytes(state)
    running = collector.start()
    until(lambda: not (collector.spool / "open.seg").exists())
    running.kill()
    running.wait()
    collector.window(1.5, from_s=begin_s)
    assert collector.do("run").returncode == 0
    tiles = sorted(spans(collector) + spans(collector, "gap"))
    assert [start for start, _ in tiles[1:]] == [end for _, end in tiles[:-1]]
    watched_s = sum(end - start for start, end in spans(collector))
    assert collector.status()["watched_s"] == pytest.approx(watched_s, abs=0.01)


def test_what_jobs_used_is_not_lost_with_a_run_that_wrote_no_interval(collector: Installed) -> None:
    usage = collector.root / V1 / "cpuacct" / "slurm" / JOB / "cpuacct.usage"
    begin_s = time.time() - 1
    collector.window(1.2, from_s=begin_s)
    collector.do("run")
    usage.write_text("7500000000\n")
    collector.window(60, from_s=begin_s, interval_s=50)
    running = collector.start()
    until(lambda: collector.status()["alive"] and collector.status()["pid"] == running.pid)
    running.kill()
    running.wait()
    collector.window(1.5, from_s=begin_s)
    collector.do("run")
    assert sum(float(row["cpu_s"]) for row in collector.rows("job")) == 7.5


def test_a_segment_removed_under_it_is_a_gap(collector: Installed) -> None:
    collector.window(5)
    running = collector.start()
    until(lambda: written(collector))
    (collector.spool / "open.seg").unlink()
    assert running.wait(20) == 0
    assert [row["reason"] for row in collector.rows("gap")] == ["removed"]
    tiles = sorted(spans(collector) + spans(collector, "gap"))
    assert [start for start, _ in tiles[1:]] == [end for _, end in tiles[:-1]]


REPLACED = {
    "removed": shutil.rmtree,
    "swapped for a link": lambda spool: (spool.rename(spool.with_name("old")), spool.symlink_to("/tmp")),
}


@pytest.mark.parametrize("how", REPLACED)
def test_without_its_spool_it_ends(collector: Installed, how: str) -> None:
    collector.window(60)
    running = collector.start()
    until(lambda: written(collector))
    REPLACED[how](collector.spool)
    assert running.wait(20) == 1
    assert running.stderr is not None
    assert running.stderr.read().count("\n") == 1


def test_every_torn_tail_loses_the_last_interval_only(tmp_path: Path) -> None:
    first = member('#{"columns":{"interval":["from_s","to_s"]}}\ninterval\t10\t20\nnode\t10\t20\n')
    second = member("interval\t20\t30\nnode\t20\t30\n")
    for length in range(len(first + second)):
        folder = tmp_path / str(length)
        folder.mkdir()
        spool = Spool(str(folder))
        (folder / "spool" / "open.seg").write_bytes((first + second)[:length])
        name, cut, last_s = close_left_over(spool, "open.seg", "n1-node")
        if length < len(first):
            assert (name, cut, last_s) == (None, length, None)
            assert list((folder / "spool").iterdir()) == []
        else:
            assert (cut, last_s) == (length - len(first), 20.0)
            assert name.startswith("n1-node-10-")
            assert (folder / "spool" / name).read_bytes() == first
        os.close(spool.fd)


def test_a_torn_tail_is_named(collector: Installed) -> None:
    collector.window(60)
    running = collector.start()
    until(lambda: written(collector))
    running.kill()
    running.wait()
    with (collector.spool / "open.seg").open("ab") as opened:
        opened.write(member("interval\t1\t2\n")[:-3])
    collector.window(1.3)
    collector.do("run")
    assert "torn" in collector.events()
    assert all(row["to_s"] != "2" for row in collector.rows("interval"))


def test_after_a_reboot_the_gap_is_one(collector: Installed) -> None:
    collector.window(1.3)
    collector.do("run")
    (collector.root / "proc/sys/kernel/random/boot_id").write_text("b1\n")
    collector.window(1.3)
    collector.do("run")
    assert [row["reason"] for row in collector.rows("gap")] == ["reboot"]
    assert "reboot" in collector.events()


def test_a_pause_is_a_gap(collector: Installed) -> None:
    collector.window(5)
    running = collector.start()
    until(lambda: written(collector))
    running.send_signal(signal.SIGSTOP)
    time.sleep(2)
    running.send_signal(signal.SIGCONT)
    assert running.wait(20) == 0
    (gap,) = collector.rows("gap")
    assert gap["reason"] == "paused"
    assert 1.5 < float(gap["to_s"]) - float(gap["from_s"]) < 2.8
    tiles = sorted([*spans(collector), (float(gap["from_s"]), float(gap["to_s"]))])
    assert [start for start, _ in tiles[1:]] == [end for _, end in tiles[:-1]]
    # Samples that were due meanwhile are counted, not made up for.
    assert sum(int(row["missed"]) for row in collector.rows("interval")) >= 7
    assert sum(float(row["cpu_s"]) for row in collector.rows("job")) == 5.5


def test_another_window_is_counted_anew(collector: Installed) -> None:
    collector.window(1.3)
    collector.do("run")
    time.sleep(1.1)
    collector.window(1.3, from_s=time.time())
    collector.do("run")
    told = collector.status()
    assert (told["gap_count"], told["ended"]) == (0, "window")
    assert told["coverage"] > 0.8
    assert sum(float(row["cpu_s"]) for row in collector.rows("job")) == 5.5


def test_a_second_one_is_refused(collector: Installed) -> None:
    collector.window(60)
    running = collector.start()
    until(lambda: collector.status()["alive"])
    second = collector.do("run")
    assert (second.returncode, second.stderr.count("\n")) == (4, 1)
    running.terminate()
    running.wait(10)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="the stepped clock is compiled, which needs gcc")
def test_a_segment_is_of_one_utc_day(collector: Installed, tmp_path: Path) -> None:
    shim = tmp_path / "shim"
    shim.mkdir()
    clock.build(shim)
    # Three seconds before midnight.
    clock.set_offset(shim, 86400 - time.time() % 86400 - 3)
    collector.window(3 * 86400)
    running = subprocess.Popen(collector.command("run"), env={**os.environ, **clock.environment(shim)})
    until(lambda: len(collector.segments()) == 1)
    until(lambda: written(collector))
    running.terminate()
    assert running.wait(10) == 0
    first, second = collector.segments()
    ends = [float(row["to_s"]) for row in rows(gzip.decompress(first.read_bytes()), "interval")]
    begins = [float(row["from_s"]) for row in rows(gzip.decompress(second.read_bytes()), "interval")]
    assert ends[-1] == begins[0]
    assert begins[0] % 86400 < 1


def test_a_segment_is_closed_when_asked(collector: Installed) -> None:
    collector.window(60)
    running = collector.start()
    until(lambda: collector.status()["alive"])
    assert collector.do("rotate").returncode == 0
    (closed,) = collector.segments()
    assert rows(gzip.decompress(closed.read_bytes()), "interval")
    running.kill()
    running.wait()
    # With none running, what is left over is closed as well.
    until(lambda: not collector.status()["alive"])
    collector.do("rotate")
    assert not (collector.spool / "open.seg").exists()
    listed = subprocess.run(["sha256sum", *collector.segments()], capture_output=True, text=True, check=True).stdout
    assert [line.split()[0] in collector.do("segments").stdout for line in listed.splitlines()]


CAPS = {
    "memory": ({"max_rss_bytes": 1 << 20}, {}),
    "disk": ({"max_disk_bytes": 1 << 16}, {"x-node-1-00000000.seg.gz": bytes(1 << 17)}),
}


@pytest.mark.parametrize("cap", CAPS)
def test_a_cap_ends_it(collector: Installed, cap: str) -> None:
    settings, files = CAPS[cap]
    collector.window(60, **settings)
    collector.spool.mkdir(0o700)
    for name, text in files.items():
        (collector.spool / name).write_bytes(text)
    assert collector.do("run").returncode == 3
    assert collector.status()["ended"].startswith(f"cap: {cap}")
    for name in files:
        (collector.spool / name).unlink()
    assert collector.events()[-1] == "cap"


def test_a_job_that_goes_and_comes_again_is_two(collector: Installed) -> None:
    collector.window(4, sample_s=0.1)
    running = collector.start()
    until(lambda: written(collector))
    for controller in ("memory", "cpuacct"):
        shutil.rmtree(collector.root / V1 / controller / "slurm" / JOB)
    time.sleep(0.5)
    tree(collector.root, memory_v1() | cpuacct())
    assert running.wait(20) == 0
    jobs = collector.rows("job")
    assert {row["job"] for row in jobs} == {"31"}
    instances = sorted({row["since_s"] for row in jobs})
    assert len(instances) == 2
    for since_s in instances:
        assert sum(float(row["cpu_s"]) for row in jobs if row["since_s"] == since_s) == 5.5
    # The first one's last row ends at its last good sample, before the second was made.
    assert max(float(row["to_s"]) for row in jobs if row["since_s"] == instances[0]) <= float(instances[1])


@pytest.mark.skipif(not ROOT, reason="mounts a small file system, which needs root")
def test_a_full_disk_pauses_it_and_what_is_lost_is_named(collector: Installed) -> None:
    # Enough jobs, each with figures of its own, that every interval needs a page of the disk.
    for job in range(200):
        stat = {f"{V1}/memory/slurm/uid_1/job_{job}/memory.stat": f"x 1\ntotal_rss {job * 7919 % 10007 * job}\n"}
        tree(collector.root, stat)
    collector.spool.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "tmpfs", collector.spool], check=True)
    try:
        collector.window(14)
        running = collector.start()
        until(lambda: written(collector))
        with (collector.spool / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError, match="No space"):
            while True:
                filler.write(bytes(4096))
        time.sleep(8)
        assert running.poll() is None
        (collector.spool / "filler").unlink()
        assert running.wait(30) == 0
        assert [kind for kind in collector.events() if kind.startswith("disk")] == ["disk_full", "disk_back"]
        (gap,) = [row for row in collector.rows("gap") if row["reason"] == "disk_full"]
        tiles = sorted([*spans(collector), (float(gap["from_s"]), float(gap["to_s"]))])
        assert [start for start, _ in tiles[1:]] == [end for _, end in tiles[:-1]]
    finally:
        subprocess.run(["umount", "--lazy", collector.spool], check=True)


def test_without_the_room_it_must_leave_it_writes_nothing(collector: Installed) -> None:
    collector.window(1.5, min_free_disk_bytes=1 << 50)
    assert collector.do("run").returncode == 0
    assert collector.segments() == []


@pytest.mark.skipif(shutil.which("gcc") is None, reason="the stepped clock is compiled, which needs gcc")
@pytest.mark.parametrize("step_s", [3600, -3600])
def test_a_stepped_clock_ends_the_interval(collector: Installed, tmp_path: Path, step_s: int) -> None:
    shim = tmp_path / "shim"
    shim.mkdir()
    clock.build(shim)
    clock.set_offset(shim, 0)
    collector.window(7200)
    running = subprocess.Popen(collector.command("run"), env={**os.environ, **clock.environment(shim)})
    until(lambda: written(collector))
    clock.set_offset(shim, step_s)
    size_bytes = written(collector)
    until(lambda: written(collector) > size_bytes)
    time.sleep(1.2)
    running.terminate()
    assert running.wait(10) == 0
    assert "clock" in collector.events()
    assert sum(float(row["cpu_s"]) for row in collector.rows("job")) == 5.5
    found = spans(collector)
    assert all(end - start < 1.5 for start, end in found)
    jumps = [b[0] - a[1] for a, b in pairwise(found)]
    assert [round(jump / 60) for jump in jumps if abs(jump) > 1] == [step_s / 60]
    gaps = [row["reason"] for row in collector.rows("gap")]
    assert gaps == (["clock"] if step_s > 0 else [])


HOSTILE = {
    "the spool is a link": lambda c, other: c.spool.symlink_to(other),
    "the lock is a link": lambda c, other: (c.spool.mkdir(0o700), (c.spool / "lock").symlink_to(other / "x")),
    "the segment is a link": lambda c, other: (c.spool.mkdir(0o700), (c.spool / "open.seg").symlink_to(other / "x")),
    "others may write the spool": lambda c, other: (c.spool.mkdir(), c.spool.chmod(0o777)),
}


SETTINGS = {
    "not JSON": "{",
    "nested without end": "[" * 100000,
    "no table": "null",
    "another format": {"format": 2},
    "not a number": {"sample_s": float("nan")},
    "without end": {"to_s": float("inf")},
    "far too large": {"to_s": 10**30},
    "a number as text": {"interval_s": "60"},
    "true for a number": {"max_rss_bytes": True},
    "a window that ends before it begins": {"from_s": 10, "to_s": 5},
    "a role twice": {"roles": ["node", "node"]},
    "roles that are none": {"roles": [["x" * 100000]]},
    "a name too long for a file": {"node": "n" * 5000},
    "a library that is no path": {"nvml_library": ["x"]},
    "commands that are none": {"slurm_commands": ["scontrol"]},
}


@pytest.mark.parametrize("what", SETTINGS)
def test_settings_that_cannot_be_are_refused_in_a_line(collector: Installed, what: str) -> None:
    told = SETTINGS[what]
    if isinstance(told, str):
        (collector.folder / "window.json").write_text(told)
    else:
        collector.window(**{"length_s": 1.3, **told})
    done = collector.do("run")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert len(done.stderr) < 400
    assert not collector.spool.exists()


@pytest.mark.parametrize("trap", HOSTILE)
def test_it_writes_nowhere_else(collector: Installed, tmp_path: Path, trap: str) -> None:
    other = tmp_path / "other"
    other.mkdir(0o700)
    (other / "x").write_text("mine")
    HOSTILE[trap](collector, other)
    collector.window()
    done = collector.do("run")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert [path.name for path in other.iterdir()] == ["x"]
    assert (other / "x").read_text() == "mine"


def test_names_that_mean_something_elsewhere_stay_names(collector: Installed) -> None:
    node = "../n\t1\n$(id)`x`'\"\\ü"
    collector.window(cluster="a\tb\n", node=node)
    assert collector.do("run").returncode == 0
    (segment,) = collector.segments()
    assert segment.parent == collector.spool
    assert segment.name.startswith("_n_1___id__x__") or set(segment.name) <= set(
        "abcdefghijklmnopqrstuvwxyz0123456789-_."
    )
    assert len(collector.rows("interval")) >= 1


def supervised(collector: Installed, python: str) -> subprocess.Popen[str]:
    script = Path(__file__).parents[2] / "collectors" / "supervise"
    return subprocess.Popen(["sh", script, python, collector.folder], text=True)


def test_the_supervisor_ends_with_its_collector(collector: Installed) -> None:
    collector.window(1.2)
    assert supervised(collector, collector.python).wait(20) == 0
    collector.window(60, max_rss_bytes=1 << 20)
    assert supervised(collector, collector.python).wait(20) == 3


def test_the_supervisor_starts_again_what_was_killed_and_leaves_no_child(collector: Installed) -> None:
    collector.window(60)
    supervisor = supervised(collector, collector.python)
    until(lambda: collector.status()["alive"])
    first = collector.status()["pid"]
    os.kill(first, signal.SIGKILL)
    until(lambda: collector.status()["pid"] not in {None, first})
    second = collector.status()["pid"]
    supervisor.terminate()
    assert supervisor.wait(20) == 0
    assert not Path(f"/proc/{second}").exists()
    assert collector.status()["ended"] == "stopped"
