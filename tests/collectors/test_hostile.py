"""What a hostile user, or whoever took over the collector's account, might plant: nothing else is read or written.

File trees read by the real zip. Beside what is planted runs job 31, whose row has to be as if nothing were there.
"""

import json
import os
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "collectors"))
from audit_collector.dcgm import Profiling

from tests.collectors.program import Installed, install, tree
from tests.collectors.test_layouts import BY_CGROUP, ON_V1, V1, cpuacct, memory_v1

SECRET = "4242424242"  # noqa: S105  a figure that must not be seen
OTHER = f"{V1}/memory/slurm/uid_2/job_32"
STAT = f"{OTHER}/memory.stat"


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def link(path: Path, target: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def endless(path: Path) -> None:
    """A file of 1 TiB, all holes."""
    with path.open("wb") as opened:
        opened.truncate(1 << 40)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


PLANTED: dict[str, Callable[[Path, Path], None]] = {
    "memory.stat is a pipe": lambda root, out: pipe(root / STAT),
    "memory.stat is a link": lambda root, out: link(root / STAT, out / "memory.stat"),
    "memory.stat is a folder": lambda root, out: folder(root / STAT),
    "memory.stat is a device": lambda root, out: link(root / STAT, Path("/dev/zero")),
    "memory.stat has no end": lambda root, out: endless(root / STAT),
    "memory.stat is no text": lambda root, out: (root / STAT).write_bytes(bytes(range(256))),
    "a peak of 10,000 digits": lambda root, out: (root / OTHER / "memory.max_usage_in_bytes").write_text("9" * 10000),
    "a list of processes that is a pipe": lambda root, out: pipe(root / OTHER / "cgroup.procs"),
    "a list of processes without end": lambda root, out: endless(root / OTHER / "cgroup.procs"),
    "a list of processes that is none": lambda root, out: (root / OTHER / "cgroup.procs").write_text("-1\n../1\nx\n"),
    "a step that is a link": lambda root, out: link(root / OTHER / "step_7", out),
    "a job that is a link": lambda root, out: link(root / OTHER / "../job_33", out),
    "a user that is a link": lambda root, out: link(root / OTHER / "../../uid_3", out),
    "names with line ends, tabs and escape codes": lambda root, out: [
        (root / OTHER / f"../{name}").mkdir() for name in ("job_1\n", "job_\t2", "job_\x1b[31m", "job_٣", "job_-1")
    ],
    "20,000 folders that are no jobs": lambda root, out: [
        (root / OTHER / f"../x{number}").mkdir() for number in range(20000)
    ],
}


@pytest.mark.parametrize("what", PLANTED)
def test_what_is_planted_in_a_cgroup_is_not_read(tmp_path: Path, what: str) -> None:
    root = tree(tmp_path / "root", memory_v1() | cpuacct() | memory_v1(job="uid_2/job_32"))
    out = tmp_path / "out"
    out.mkdir()
    for name in ("memory.stat", "cgroup.procs", "memory.oom_control", "memory.max_usage_in_bytes"):
        (out / name).write_text(f"{SECRET}\ntotal_rss {SECRET}\noom_kill {SECRET}\n")
    PLANTED[what](root, out)
    collector = install(tmp_path / "c", root=root)
    collector.window(2.2)
    done = collector.do("run")
    assert (done.returncode, done.stderr) == (0, "")
    jobs = collector.rows("job")
    first = next(row for row in jobs if row["job"] == "31")
    assert {name: first[name] for name in ON_V1 | BY_CGROUP} == ON_V1 | BY_CGROUP
    assert all(SECRET not in value for row in jobs for value in row.values())
    assert {row["job"] for row in jobs} <= {"31", "32"}
    assert collector.status()["late_max_s"] < 2


def spool_pipe(collector: Installed, other: Path) -> None:
    os.mkfifo(collector.spool / "open.seg", 0o600)


def second_name(collector: Installed, other: Path) -> None:
    os.link(other, collector.spool / "lock")


IN_THE_SPOOL = {
    "a pipe for a segment": (spool_pipe, "rotate"),
    "a closed segment that is a pipe": (
        lambda collector, other: os.mkfifo(collector.spool / "n1-node-1-00000000.seg.gz", 0o600),
        "segments",
    ),
    "a second name of a file elsewhere": (second_name, "rotate"),
}


@pytest.mark.parametrize("what", IN_THE_SPOOL)
def test_root_is_not_led_astray_by_the_spool(tmp_path: Path, what: str) -> None:
    plant, command = IN_THE_SPOOL[what]
    collector = install(tmp_path / "c", root=tree(tmp_path / "root", {}))
    collector.window()
    collector.spool.mkdir(0o700)
    other = tmp_path / "other"
    other.write_text("mine")
    plant(collector, other)
    done = collector.do(command)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert other.read_text() == "mine"


STATES = {
    "no packed text": b"x" * 100,
    "a list": zlib.compress(b"[]"),
    "nested": zlib.compress(b"[" * 100000),
    "64 MiB of blanks": zlib.compress(b" " * (64 << 20)),
    "gaps that are none": zlib.compress(json.dumps({"gaps": [[1, "x"]], "gap_count": 3}).encode()),
    "jobs that are none": zlib.compress(json.dumps({"jobs": [["31", 1, ["x"] * 8]], "last_s": 5}).encode()),
    "times that are text": zlib.compress(json.dumps({"last_s": "now", "watched_s": None}).encode()),
    "not a number": zlib.compress(b'{"watched_s": NaN, "last_s": Infinity}'),
}


@pytest.mark.parametrize("what", STATES)
def test_a_state_that_is_none_is_as_if_there_were_none(tmp_path: Path, what: str) -> None:
    collector = install(tmp_path / "c", root=tree(tmp_path / "root", {}))
    collector.window(4)
    collector.spool.mkdir(0o700)
    (collector.spool / "state").write_bytes(STATES[what])
    told = collector.status()
    assert (told["watched_s"], told["gap_count"], told["pid"]) == (0, 0, None)
    assert collector.do("run").returncode == 0
    assert collector.events()[0] == "start"


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, which needs root")
def test_another_users_process_is_no_daemon_of_slurm(tmp_path: Path) -> None:
    files = {"proc/70/comm": "slurmstepd\n", "proc/70/cgroup": "4:memory:/elsewhere\n"}
    root = tree(tmp_path / "root", files)
    os.chown(root / "proc/70", 1001, 1001)
    collector = install(tmp_path / "c", root=root)
    collector.window()
    collector.do("run")
    assert {row["busy"] for row in collector.rows("interval")} == {"0"}


def test_names_of_sockets_that_are_no_text_are_passed_over(tmp_path: Path) -> None:
    root = tree(tmp_path / "root", {"proc/net/tcp": ""})
    (root / "proc/net/unix").write_bytes(b"0: 2 0 0 1 01 9 /tmp/\xff\xfe\n /tmp/nv-hostengine\n")
    profiling = Profiling(str(root))
    assert (profiling.poll(0.0), profiling.state) == ({}, "absent")


def test_what_a_user_listens_with_is_no_host_engine(tmp_path: Path) -> None:
    line = "0: 0100007F:15B3 00000000:0000 0A 00000000:00000000 00:00000000 00000000 {} 0 12345"
    root = tree(tmp_path / "root", {"proc/net/tcp": "\n".join(line.format(owner) for owner in (0, 1001))})
    profiling = Profiling(str(root))
    assert (profiling.poll(0.0), profiling.state) == ({}, "absent")


def test_it_opens_no_port(tmp_path: Path) -> None:
    collector = install(tmp_path / "c", root=tree(tmp_path / "root", memory_v1()))
    collector.window(30)
    running = collector.start()
    try:
        while not collector.status()["alive"]:
            assert running.poll() is None
        held = [str(path.readlink()) for path in Path(f"/proc/{running.pid}/fd").iterdir()]
        assert not [one for one in held if one.startswith("socket:")]
        assert Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text() == ""
    finally:
        running.terminate()
        assert running.wait(20) == 0
