"""What the `node` row says of a whole node: every counter, from file trees that change between two readings."""

import json
import time
from pathlib import Path

import pytest

from tests.collectors.program import install, tree

DISK = "8 0 sda 10 0 {} 5 20 0 {} 7 0 {} 12\n8 1 sda1 1 0 99 1 1 0 99 1 0 99 1\n7 0 loop0 1 0 99 1 1 0 99 1 0 99 1\n"
NET = "Inter-| Receive | Transmit\n face |bytes\n    lo: 5 0 0 0 0 0 0 0 5 0 0 0 0 0 0 0\n"
CARD = "  eth0: {} 0 0 0 0 0 0 0 {} 0 0 0 0 0 0 0\n"
BRIDGE = "   br0: 777{} 0 0 0 0 0 0 0 777{} 0 0 0 0 0 0 0\n"
MOUNTS = (
    "device /dev/sda1 mounted on / with fstype ext4\n"
    "device srv:/home mounted on /home with fstype nfs4 statvers=1.1\n\tbytes:\t1 2 0 0 {} {} 0 0\n"
    "device srv:/home mounted on /again with fstype nfs4 statvers=1.1\n\tbytes:\t1 2 0 0 {} {} 0 0\n"
    "device srv:/data mounted on /data with fstype nfs statvers=1.1\n\tbytes:\t9 9 0 0 100 0 0 0\n"
)
LLITE = "snapshot_time 1.1 secs.nsecs\nread_bytes 4 samples [bytes] 1 9 {}\nwrite_bytes 1 samples [bytes] 1 9 {} 8\n"
PRESSURE = "some avg10=0.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={}\n"
IB = "sys/class/infiniband/mlx5_0/ports/{}/counters/{}"

# what: (files that stay, file that changes, its text before and after, the columns then)
COUNTERS: dict[str, tuple[dict[str, str], str, tuple[str, str], dict[str, str]]] = {
    "whole disks, in sectors of 512 bytes and milliseconds": (
        {"sys/block/sda/device/x": "", "sys/block/loop0/size": ""},
        "proc/diskstats",
        (DISK.format(100, 200, 1000), DISK.format(102, 300, 1500)),
        {"disk_read_bytes": "1024", "disk_write_bytes": "51200", "disk_busy_s": "0.5"},
    ),
    "cards, not what repeats them": (
        {"sys/class/net/eth0/device/x": ""},
        "proc/net/dev",
        (NET + CARD.format(10, 20) + BRIDGE.format(1, 1), NET + CARD.format(1010, 2020) + BRIDGE.format(2, 2)),
        {"net_rx_bytes": "1000", "net_tx_bytes": "2000"},
    ),
    "no card: all but loopback": (
        {},
        "proc/net/dev",
        (NET + CARD.format(10, 20), NET + CARD.format(11, 22)),
        {"net_rx_bytes": "1", "net_tx_bytes": "2"},
    ),
    "InfiniBand, in words of four bytes": (
        {IB.format(2, "port_rcv_data"): "50\n", IB.format(1, "port_xmit_data"): "N/A\n"},
        IB.format(1, "port_rcv_data"),
        ("1000\n", "1300\n"),
        {"ib_rx_bytes": "1200", "ib_tx_bytes": ""},
    ),
    "NFS, each export once": (
        {},
        "proc/self/mountstats",
        (MOUNTS.format(5, 6, 5, 6), MOUNTS.format(505, 66, 505, 66)),
        {"nfs_read_bytes": "500", "nfs_write_bytes": "60"},
    ),
    "Lustre": (
        {},
        "proc/fs/lustre/llite/scratch-ffff/stats",
        (LLITE.format(1000, 0), LLITE.format(4000, 70)),
        {"lustre_read_bytes": "3000", "lustre_write_bytes": "70"},
    ),
    "pressure, in seconds": (
        {},
        "proc/pressure/memory",
        (PRESSURE.format(1000000, 0), PRESSURE.format(3500000, 250000)),
        {"psi_mem_some_s": "2.5", "psi_mem_full_s": "0.25", "psi_cpu_some_s": "", "psi_io_full_s": ""},
    ),
    "a counter that was reset says nothing": (
        {"sys/block/sda/device/x": ""},
        "proc/diskstats",
        (DISK.format(100, 200, 1000), DISK.format(5, 6, 7)),
        {"disk_read_bytes": "", "disk_write_bytes": "", "disk_busy_s": ""},
    ),
    "CPU time: user 30, idle 60, waiting 10 of 100": (
        {},
        "proc/stat",
        ("cpu  0 0 0 0 0 0 0 0\ncpu0 0\ncpu1 0\n", "cpu  30 0 0 60 10 0 0 0\ncpu0 0\ncpu1 0\n"),
        {"cores": "2", "cpu_busy_mean": "0.3", "cpu_busy_max": "0.3", "iowait_mean": "0.1"},
    ),
}


@pytest.mark.parametrize("what", COUNTERS)
def test_a_counter(tmp_path: Path, what: str) -> None:
    files, name, (before, after), expected = COUNTERS[what]
    root = tree(tmp_path / "root", {**files, name: before})
    collector = install(tmp_path / "c", root=root)
    # One interval: nothing is closed before the end.
    collector.window(1.6, interval_s=3600)
    running = collector.start()
    time.sleep(0.9)
    changed = tmp_path / "changed"
    changed.write_text(after)
    changed.replace(root / name)
    assert running.wait(20) == 0
    row = collector.rows("node")[-1]
    assert {column: row[column] for column in expected} == expected


def test_what_a_node_has_not_is_not_measured(tmp_path: Path) -> None:
    collector = install(tmp_path / "c", root=tree(tmp_path / "root", {}))
    collector.window(1.3)
    collector.do("run")
    row = collector.rows("node")[0]
    counted = [column for column in row if column.split("_")[0] in {"psi", "net", "ib", "disk", "nfs", "lustre"}]
    assert len(counted) == 16
    assert {row[column] for column in counted} == {""}


def test_the_check_says_what_is_there(tmp_path: Path) -> None:
    files = {
        "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\nGCC\n",
        "proc/driver/nvidia/gpus/0000:01:00.0/information": "",
        "proc/driver/nvidia/gpus/0000:02:00.0/information": "",
        "sys/fs/cgroup/memory/slurm/uid_1/job_1/memory.stat": "",
        "proc/self/mounts": "proc /proc proc rw,hidepid=2 0 0\n",
    }
    collector = install(tmp_path / "c", root=tree(tmp_path / "root", files))
    told = json.loads(collector.do("check").stdout)
    assert told["cgroup_layout"] == "v1"
    assert (told["nvidia_driver"], told["gpus"], told["hidepid"]) == ("535.104.05", 2, True)
    assert told["collector"] == told["version"]
    assert abs(told["now_s"] - time.time()) < 30
    assert told["disk_free_bytes"] > 0
