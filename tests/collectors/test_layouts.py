"""What a job's row says, for every cgroup layout Slurm makes and for what is odd: file trees, read by the real zip."""

from pathlib import Path

import pytest

from tests.collectors.nvml.pythons import WANTED, interpreter
from tests.collectors.program import header, install, tree

V1 = "sys/fs/cgroup"
STAT_V1 = "cache 7\nrss 7\nshmem 7\nswap 7\ntotal_cache 100000\ntotal_rss 1000000\ntotal_shmem 24000\ntotal_swap 512\n"
STAT_V2 = "anon 2000000\nfile 500000\nkernel 1\nshmem 100000\ninactive_anon 9\n"
JOB = "uid_1001/job_31"
# Process 100 is the step's daemon; it has waited for children that used 50 ticks. 101 ran for 150 + 50 ticks.
DAEMON = "100 (slurmstepd) S 1 1 1 0 -1 0 0 0 0 0 0 0 30 20 20 0 1 0 500 0 0\n"
WORKER = "101 (a) b) 1 (x) R 100 1 1 0 -1 0 0 0 0 0 150 50 0 0 20 0 1 0 600 0 0\n"
PROCESSES = {"proc/100/stat": DAEMON, "proc/101/stat": WORKER}


def memory_v1(top: str = "slurm", job: str = JOB) -> dict[str, str]:
    return {
        f"{V1}/memory/{top}/{job}/memory.stat": STAT_V1,
        f"{V1}/memory/{top}/{job}/memory.max_usage_in_bytes": "3000000\n",
        f"{V1}/memory/{top}/{job}/memory.limit_in_bytes": "8000000\n",
        f"{V1}/memory/{top}/{job}/cgroup.procs": "",
        f"{V1}/memory/{top}/{job}/step_0/cgroup.procs": "100\n",
        f"{V1}/memory/{top}/{job}/step_0/task_0/cgroup.procs": "101\n",
        f"{V1}/memory/{top}/{job}/step_0/memory.oom_control": "oom_kill_disable 0\noom_kill 0\n",
    }


def cpuacct(folder: str = "cpuacct", top: str = "slurm", job: str = JOB) -> dict[str, str]:
    return {f"{V1}/{folder}/{top}/{job}/cpuacct.usage": "5500000000\n"}


def job_v2(path: str, memory: str = STAT_V2) -> dict[str, str]:
    return {
        f"{V1}/cgroup.controllers": "cpu memory\n",
        f"{V1}/{path}/memory.stat": memory,
        f"{V1}/{path}/memory.peak": "2600000\n",
        f"{V1}/{path}/memory.max": "max\n",
        f"{V1}/{path}/memory.swap.current": "4096\n",
        f"{V1}/{path}/memory.events": "low 0\noom 2\noom_kill 1\n",
        f"{V1}/{path}/cpu.stat": "usage_usec 7250000\nuser_usec 1\nthrottled_usec 1500000\n",
        f"{V1}/{path}/io.stat": "8:0 rbytes=1000 wbytes=500 rios=1\n8:16 rbytes=24 wbytes=0 rios=1\n",
        f"{V1}/{path}/step_0/user/task_0/cgroup.procs": "101\n",
        f"{V1}/{path}/step_0/slurm/cgroup.procs": "100\n",
    }


ON_V1 = {
    "job": "31",
    "anon_shmem_bytes_min": "1024000",
    "anon_shmem_bytes_mean": "1024000",
    "anon_shmem_bytes_max": "1024000",
    "file_bytes_max": "76000",
    "kernel_peak_bytes": "3000000",
    "limit_bytes": "8000000",
    "swap_bytes_max": "512",
    "oom_kills": "0",
    "throttled_s": "",
    "processes_max": "2",
}
ON_V2 = {
    "anon_shmem_bytes_max": "2100000",
    "file_bytes_max": "400000",
    "kernel_peak_bytes": "2600000",
    "limit_bytes": "",
    "swap_bytes_max": "4096",
    "oom_kills": "1",
    "cpu_s": "7.25",
    "cpu_source": "cgroup2",
    "throttled_s": "1.5",
    "read_bytes": "1024",
    "write_bytes": "500",
    "processes_max": "2",
}
BY_PROCESSES = {"cpu_s": "2.5", "cpu_source": "processes"}
BY_CGROUP = {"cpu_s": "5.5", "cpu_source": "cpuacct"}
SCOPE = "system.slice/slurmstepd.scope"
BLKIO = "8:0 Read 700\n8:0 Write 60\n8:0 Sync 1\n8:0 Total 760\n8:16 Read 300\nTotal 1060\n"
V2_FOLDER = f"{V1}/{SCOPE}"

# layout: (files, the first row's fields, how many cgroups could not be mapped)
LAYOUTS: dict[str, tuple[dict[str, str], dict[str, str] | None, str]] = {
    "v1, the linux gatherer: no cpuacct cgroup": (memory_v1() | PROCESSES, ON_V1 | BY_PROCESSES, "0"),
    "v1, the cgroup gatherer": (memory_v1() | cpuacct() | PROCESSES, ON_V1 | BY_CGROUP, "0"),
    "v1, cpu and cpuacct on one mount": (memory_v1() | cpuacct("cpu,cpuacct") | PROCESSES, ON_V1 | BY_CGROUP, "0"),
    "v1, several slurmd built in, one here": (
        memory_v1("slurm_n1") | cpuacct(top="slurm_n1"),
        {"job": "31"} | BY_CGROUP,
        "0",
    ),
    "v1, several slurmd on one host": (
        memory_v1("slurm_n1") | cpuacct(top="slurm_n1") | memory_v1("slurm_n2", "uid_7/job_99"),
        {"job": "31"} | BY_CGROUP,
        "0",
    ),
    "v1, several slurmd, none of them this node": (memory_v1("slurm_n8") | memory_v1("slurm_n9"), None, "1"),
    "v1, block I/O counted": (
        memory_v1() | cpuacct() | {f"{V1}/blkio/slurm/{JOB}/blkio.throttle.io_service_bytes_recursive": BLKIO},
        {"read_bytes": "1000", "write_bytes": "60"},
        "0",
    ),
    "v1, CPU bandwidth limited": (
        memory_v1() | cpuacct() | {f"{V1}/cpu/slurm/{JOB}/cpu.stat": "nr_periods 9\nthrottled_time 2500000000\n"},
        {"throttled_s": "2.5"},
        "0",
    ),
    "v1, no memory cgroup, the freezer only": (
        {f"{V1}/freezer/slurm/{JOB}/step_0/cgroup.procs": "100\n101\n"} | PROCESSES,
        {"job": "31", "anon_shmem_bytes_max": "", "kernel_peak_bytes": "", "limit_bytes": ""} | BY_PROCESSES,
        "0",
    ),
    "v1, an old kernel that does not tell shmem apart": (
        memory_v1() | {f"{V1}/memory/slurm/{JOB}/memory.stat": "total_cache 5000\ntotal_rss 1000\n"},
        {"anon_shmem_bytes_max": "1000", "file_bytes_max": "", "swap_bytes_max": ""},
        "0",
    ),
    "v1, unlimited": (
        memory_v1() | {f"{V1}/memory/slurm/{JOB}/memory.limit_in_bytes": "9223372036854771712\n"},
        {"limit_bytes": ""},
        "0",
    ),
    "v1, killed at its limit: counted where the process sat": (
        memory_v1()
        | {
            f"{V1}/memory/slurm/{JOB}/memory.max_usage_in_bytes": "8000000\n",
            f"{V1}/memory/slurm/{JOB}/memory.oom_control": "oom_kill 0\n",
            f"{V1}/memory/slurm/{JOB}/step_0/task_0/memory.oom_control": "oom_kill_disable 0\noom_kill 3\n",
        },
        {"oom_kills": "3"},
        "0",
    ),
    "v1, at its limit, and no kill is seen: there may have been one in a step that has gone": (
        memory_v1() | {f"{V1}/memory/slurm/{JOB}/memory.max_usage_in_bytes": "7900000\n"},
        {"oom_kills": ""},
        "0",
    ),
    "v2, job ids": (job_v2(f"{SCOPE}/job_31") | PROCESSES, {"job": "31"} | ON_V2, "0"),
    "v2, SLUIDs": (
        job_v2(f"{SCOPE}/s5M9M8NTDNAA00") | PROCESSES,
        {"job": "s5M9M8NTDNAA00"} | ON_V2,
        "0",
    ),
    "v2, several slurmd built in": (
        job_v2("system.slice/n1_slurmstepd.scope/job_31") | job_v2("system.slice/n2_slurmstepd.scope/job_32"),
        {"job": "31"},
        "0",
    ),
    "v2, the scope at the top": (job_v2("slurmstepd.scope/job_31"), {"job": "31"}, "0"),
    "v2, Slurm's own folder is no job": (
        job_v2(f"{SCOPE}/job_31") | {f"{V2_FOLDER}/system/cgroup.procs": "1\n"},
        {"job": "31"},
        "0",
    ),
    "v2, a kernel without memory.peak": (
        {name: text for name, text in job_v2(f"{SCOPE}/job_31").items() if not name.endswith("memory.peak")},
        {"kernel_peak_bytes": "", "anon_shmem_bytes_max": "2100000"},
        "0",
    ),
    "v2, names that are neither": (
        job_v2(f"{SCOPE}/job_1x") | job_v2(f"{SCOPE}/s5M9M8NTDNAAI0") | job_v2(f"{SCOPE}/job_\n7"),
        None,
        "3",
    ),
    "v1, names that are no job's": (
        memory_v1(job="uid_1001/job_x") | memory_v1(job="uid_x/job_1") | memory_v1(job="uid_1001/job_1\t2"),
        None,
        "3",
    ),
    "numbers that are none": (
        memory_v1() | cpuacct() | {f"{V1}/cpuacct/slurm/{JOB}/cpuacct.usage": "many\n"},
        {"cpu_s": "", "cpu_source": "", "anon_shmem_bytes_max": "1024000"},
        "0",
    ),
    "nothing of Slurm": ({f"{V1}/memory/memory.stat": ""}, None, "0"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout(tmp_path: Path, layout: str) -> None:
    files, expected, unmapped = LAYOUTS[layout]
    collector = install(tmp_path / "c", root=tree(tmp_path / "root", files))
    collector.window()
    assert collector.do("run").returncode == 0
    jobs = collector.rows("job")
    assert collector.rows("interval")[0]["unmapped"] == unmapped
    if expected is None:
        assert jobs == []
        return
    assert {name: jobs[0][name] for name in expected} == expected
    assert {row["job"] for row in jobs} == {jobs[0]["job"]}
    # The first row counts from the creation of the cgroup, the following ones only what came on top: nothing here.
    assert jobs[0]["from_s"] == jobs[0]["since_s"]
    assert {row["cpu_s"] for row in jobs[1:]} <= {"0", ""}
    assert [row["from_s"] for row in jobs[1:]] == [row["to_s"] for row in jobs[:-1]]


@pytest.mark.parametrize("version", WANTED)
def test_every_python_writes_the_same(tmp_path: Path, version: str) -> None:
    files = memory_v1() | PROCESSES | job_v2("unified/system.slice/slurmstepd.scope/s5M9M8NTDNAA00")
    files[f"{V1}/unified/cgroup.controllers"] = files.pop(f"{V1}/cgroup.controllers")
    collector = install(tmp_path / "c", root=tree(tmp_path / "root", files), python=interpreter(version))
    collector.window()
    assert collector.do("run").returncode == 0
    told = {row["job"]: row for row in collector.rows("job")[:2]}
    assert {name: told["31"][name] for name in ON_V1 | BY_PROCESSES} == ON_V1 | BY_PROCESSES
    assert told["s5M9M8NTDNAA00"]["anon_shmem_bytes_max"] == "2100000"
    node = collector.rows("node")[0]
    assert (node["mem_total_bytes"], node["mem_available_bytes_min"], node["swap_used_bytes_max"]) == (
        "1024000",
        "614400",
        "61440",
    )
    assert header(collector.segments()[0])["cgroup"] == "v1"


def test_a_link_where_a_job_should_be_is_not_followed(tmp_path: Path) -> None:
    root = tree(tmp_path / "root", memory_v1(job="elsewhere/job_9") | {f"{V1}/memory/slurm/uid_1/cgroup.procs": ""})
    (root / V1 / "memory/slurm/uid_1/job_9").symlink_to(root / V1 / "memory/slurm/elsewhere/job_9")
    collector = install(tmp_path / "c", root=root)
    collector.window()
    assert collector.do("run").returncode == 0
    assert collector.rows("job") == []
    assert collector.rows("interval")[0]["unmapped"] == "1"


def test_a_node_that_runs_something_unmapped_is_not_idle(tmp_path: Path) -> None:
    files = {"proc/70/comm": "slurmstepd\n", "proc/70/cgroup": "4:memory:/elsewhere\n"}
    collector = install(tmp_path / "c", root=tree(tmp_path / "root", files))
    collector.window()
    collector.do("run")
    assert {row["busy"] for row in collector.rows("interval")} == {"1"}


MISSING = {
    "memory: no cgroup": (
        {f"{V1}/freezer/slurm/{JOB}/step_0/cgroup.procs": "100\n101\n"} | PROCESSES,
        "ConstrainRAMSpace=yes",
    ),
    "shared memory: an old kernel": (
        memory_v1() | {f"{V1}/memory/slurm/{JOB}/memory.stat": "total_cache 5000\ntotal_rss 1000\n"},
        "shared memory",
    ),
    "the node's memory": ({"proc/meminfo/x": ""}, "/proc/meminfo"),
}


@pytest.mark.parametrize("what", MISSING)
def test_what_is_not_measured_is_named(tmp_path: Path, what: str) -> None:
    files, named = MISSING[what]
    root = tree(tmp_path / "root", {name: text for name, text in files.items() if not name.endswith("/x")})
    for name in files:
        if name.endswith("/x"):
            (root / name).parent.unlink()
    collector = install(tmp_path / "c", root=root)
    collector.window(2.2)
    assert collector.do("run").returncode == 0
    assert named in collector.status()["degraded"][0]
    assert [row["text"] for row in collector.rows("event") if row["kind"] == "degraded"] == collector.status()[
        "degraded"
    ]
