"""The cluster of the tests is what the other tests take it for."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cluster import clock, host
from tests.cluster.cluster import Cluster, up


def _ssh(cluster: Cluster, machine: str, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["ssh", "-n", "-F", cluster.ssh_config, machine, command],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_a_job_runs_on_every_node_and_is_accounted(cluster: Cluster) -> None:
    job = cluster.submit("alice", "-N3", script="srun hostname")
    assert cluster.wait([job]) == {job: "COMPLETED"}
    assert cluster.sacct("-X", "-j", job, "-o", "User,Account,NNodes,State") == [["alice", "physics", "3", "COMPLETED"]]
    assert sorted((cluster.home / f"alice/slurm-{job}.out").read_text().split()) == cluster.nodes


@pytest.mark.parametrize("machine", ["ctl", "node1", "node3"])
def test_machines_are_reached_by_ssh_as_root_and_as_an_engineer_with_sudo(cluster: Cluster, machine: str) -> None:
    assert _ssh(cluster, machine, "hostname; id -un").stdout.split() == [machine, "root"]
    assert _ssh(cluster, f"engineer@{machine}", "id -un; sudo -n id -un").stdout.split() == ["engineer", "root"]


def test_slurm_answers_on_the_controller_over_ssh(cluster: Cluster) -> None:
    assert "node1" in _ssh(cluster, "ctl", "scontrol show node -o").stdout


def test_a_gpu_job_beside_another_gets_the_cards_after_it(cluster: Cluster) -> None:
    first = cluster.submit("bob", "-w", "node2", "--gres=gpu:a100:1", script="sleep 60")
    cluster.wait([first], {"RUNNING"})
    second = cluster.submit("bob", "-w", "node2", "--gres=gpu:a100:2", script="sleep 60")
    cluster.wait([second], {"RUNNING"})
    shown = cluster.run("ctl", ["scontrol", "show", "job", "-d", second]).stdout
    assert "GRES=gpu:a100:2(IDX:1-2)" in shown
    cluster.run("ctl", ["scancel", first, second])
    assert set(cluster.wait([first, second]).values()) == {"CANCELLED"}


def test_a_reboot_keeps_the_disk_and_nothing_else(cluster: Cluster) -> None:
    script = "#!/bin/sh\necho $1 >/run/booted\n"
    cluster.run("node3", ["tee", "/etc/rc3.d/S99boot"], input=script)
    cluster.run("node3", ["chmod", "755", "/etc/rc3.d/S99boot"])
    cluster.run("node3", ["touch", "/run/before", "/tmp/before"])
    boot_id = cluster.run("node3", ["cat", "/proc/sys/kernel/random/boot_id"]).stdout
    cluster.reboot("node3")
    assert cluster.run("node3", ["cat", "/run/booted"]).stdout == "start\n"
    assert cluster.run("node3", ["ls", "/run/before", "/tmp/before"], check=False).stdout == ""
    assert cluster.run("node3", ["cat", "/proc/sys/kernel/random/boot_id"]).stdout != boot_id
    assert float(cluster.run("node3", ["cat", "/proc/uptime"]).stdout.split()[0]) < 60
    cluster.run("node3", ["rm", "/etc/rc3.d/S99boot"])
    cluster.wait_idle()


def test_a_full_disk_takes_no_more(cluster: Cluster) -> None:
    cluster.fill_disk("node3")
    write = ["sh", "-c", "head -c 100000 /dev/zero >/var/tmp/more"]
    assert "No space left" in cluster.run("node3", write, check=False).stderr
    cluster.free_disk("node3")
    cluster.run("node3", write)
    cluster.run("node3", ["rm", "/var/tmp/more"])


def test_a_clock_is_stepped_for_programs_of_one_machine(cluster: Cluster) -> None:
    def ahead_s(machine: str) -> float:
        return float(cluster.run(machine, ["python3", "-c", "import time; print(time.time())"]).stdout) - time.time()

    if clock.build(cluster.ground.base) is None:
        pytest.skip("no C compiler")
    cluster.step_clock("node2", 3600)
    assert ahead_s("node2") == pytest.approx(3600, abs=30)
    assert ahead_s("node1") == pytest.approx(0, abs=30)
    cluster.step_clock("node2", -3600)
    assert ahead_s("node2") == pytest.approx(-3600, abs=30)
    cluster.run("node2", ["rm", "/etc/ld.so.preload"])


def test_a_listing_shows_what_came_and_nothing_once_it_went(cluster: Cluster) -> None:
    before = cluster.listing("node3")
    cluster.run("node3", ["useradd", "--system", "guest"])
    cluster.run("node3", ["mkdir", "-p", "/var/lib/guest"])
    cluster.run("node3", ["touch", "/var/lib/guest/file", "/etc/init.d/guest", "/run/guest.pid"])
    cluster.run("node3", ["ln", "-s", "../init.d/guest", "/etc/rc3.d/S01guest"])
    process = subprocess.Popen(cluster.command("node3", ["sleep", "1234"]))
    while not (came := set(cluster.listing("node3")) - set(before)) or "process 0 sleep 1234" not in came:
        time.sleep(0.05)
    kinds = {" ".join(line.split()[:2]) for line in came}
    assert kinds >= {
        "file /var/lib/guest",
        "file /var/lib/guest/file",
        "file /etc/init.d/guest",
        "file /run/guest.pid",
        "file /etc/rc3.d/S01guest",
        "process 0",
    }
    assert any(line.startswith("passwd guest:") for line in came)
    cluster.run("node3", ["sh", "-c", "kill $(pgrep -x -f 'sleep 1234')"])
    process.wait()
    cluster.run("node3", ["rm", "-r", "/var/lib/guest", "/etc/init.d/guest", "/run/guest.pid", "/etc/rc3.d/S01guest"])
    cluster.run("node3", ["userdel", "guest"])
    assert cluster.listing("node3") == before


def test_nothing_is_left_of_a_cluster(cluster: Cluster) -> None:
    with up(nodes=[(2, 0)]) as second:
        base = second.ground.base
        inside = second.ground.holder_pid
        assert second.node_states() == {"node1": "idle"}
    assert not base.exists()
    assert host.started(inside) is None
    assert not list(Path("/sys/fs/cgroup").glob(f"*/{base.name}"))
    assert base.name not in Path("/proc/self/mountinfo").read_text()
    assert str(base) not in subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=True).stdout
    assert cluster.node_states().keys() == set(cluster.nodes)


def test_what_a_killed_test_run_left_is_swept(cluster: Cluster, tmp_path: Path) -> None:
    program = "import os\nfrom tests.cluster.cluster import up\nwith up(nodes=[(2, 0)]) as c:\n    print(c.ground.base, flush=True)\n    os.kill(os.getpid(), 9)"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=root,
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(root)},
    )
    base = Path(done.stdout.strip())
    assert base.exists()
    host.sweep()
    assert not base.exists()
    assert not list(Path("/sys/fs/cgroup").glob(f"*/{base.name}"))
