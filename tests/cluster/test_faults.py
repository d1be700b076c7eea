"""What goes wrong in a measurement window on a real cluster: nothing lost but what is named, nothing left, one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from audit.fleet.bundle import build
from tests.cluster.cluster import Cluster
from tests.cluster.engagement import Engagement, Ran, engagement

FOLDER = "/var/lib/audit-collector"
# A cut is noticed in seconds here; left to itself it takes half a minute.
QUICK = {"ANSIBLE_SSH_EXTRA_ARGS": "-o ServerAliveInterval=1 -o ServerAliveCountMax=2", "ANSIBLE_TIMEOUT": "2"}


@pytest.fixture(scope="module")
def at(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engagement]:
    """A window on every machine; all of them are clean again afterwards."""
    at = engagement(cluster, tmp_path_factory.mktemp("faults"), interval_s=2)
    yield at
    torn_down = at.audit("teardown", "--discard")
    assert torn_down.status == 0, torn_down.err


def said(cluster: Cluster, host: str) -> dict[str, Any]:
    """What the collector on a host tells of itself."""
    lower = ["setpriv", "--reuid=audit-collector", "--regid=audit-collector", "--clear-groups"]
    status = ["python3", "-I", "-B", f"{FOLDER}/collector.pyz", "status", "--dir", FOLDER]
    return json.loads(cluster.run(host, [*lower, *status]).stdout)


def gaps(cluster: Cluster, host: str, reason: str) -> list[dict[str, Any]]:
    return [gap for gap in said(cluster, host)["gaps"] if gap["reason"] == reason]


def states(at: Engagement) -> dict[str, str]:
    return {node["host"]: node["state"] for node in at.audit("status", "--json").json["nodes"]}


def until(holds: Callable[[], bool], what: str, limit_s: float = 60) -> None:
    end = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.3)


def lines_about(ran: Ran, host: str) -> list[str]:
    return [line for line in ran.err.splitlines() if line.startswith(f"audit: {host}: ")]


def cut_during(cluster: Cluster, at: Engagement, host: str, sign: str, *words: str) -> Ran:
    """Runs the command and pulls the host's network plug once `sign` is there; plugs it in afterwards."""
    script = "import sys, os; sys.path.insert(0, os.getcwd()); from audit.cli import main; sys.exit(main())"
    with subprocess.Popen(
        [sys.executable, "-c", script, *words, "--dir", at.root],
        env={**os.environ, **QUICK},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        cluster.run(host, ["timeout", "60", "sh", "-c", f"while ! ls -d {sign}; do sleep 0.02; done"])
        cluster.cut_network(host)
        out, err = running.communicate(timeout=120)
    cluster.mend_network(host)
    return Ran(running.returncode, out, err)


def test_a_cut_during_deploy_names_the_node_and_a_rerun_completes(cluster: Cluster, at: Engagement) -> None:
    cut = cut_during(cluster, at, "node2", "/run/audit-collector.lock", "deploy")
    assert cut.status == 4, cut.err
    assert len(lines_about(cut, "node2")) == 1
    again = at.audit("deploy", "--json")
    assert again.status == 0, again.err
    assert states(at) == dict.fromkeys((*cluster.nodes, "ctl"), "watching")
    assert cluster.run("node2", ["ls", "-d", "/run/audit-collector.lock"], check=False).stdout == ""


def test_a_cut_during_collect_leaves_no_half_file_and_a_rerun_completes(cluster: Cluster, at: Engagement) -> None:
    cut = cut_during(cluster, at, "node2", "/tmp/ansible-tmp-*", "collect", "--telemetry-only")
    assert cut.status == 4, cut.err
    assert len(lines_about(cut, "node2")) == 1
    assert at.segments("node1")
    assert [p for p in (at.root / "evidence").rglob("*") if p.suffix == ".part"] == []
    again = at.audit("collect", "--telemetry-only", "--json")
    assert again.status == 0, again.err
    assert at.segments("node2")


def test_a_kill_loses_one_interval_and_is_named(cluster: Cluster, at: Engagement) -> None:
    cluster.run("node2", ["kill", "-9", str(said(cluster, "node2")["pid"])])
    until(lambda: len(gaps(cluster, "node2", "killed")) == 1, "the supervisor starts it again")
    lost = gaps(cluster, "node2", "killed")
    assert lost[0]["to_s"] - lost[0]["from_s"] < 2 + 5 + 5  # an interval, the supervisor's wait, a start


def test_a_reboot_starts_it_again_and_is_named(cluster: Cluster, at: Engagement) -> None:
    cluster.reboot("node3")
    until(lambda: len(gaps(cluster, "node3", "reboot")) == 1, "the start script starts it")
    cluster.wait_idle()


def test_a_full_disk_is_named_and_over_when_there_is_room(cluster: Cluster, at: Engagement) -> None:
    cluster.fill_disk("node1")
    time.sleep(16)  # more intervals than it keeps in memory
    told = said(cluster, "node1")
    assert told["alive"]
    cluster.free_disk("node1")
    until(lambda: len(gaps(cluster, "node1", "disk_full")) == 1, "the gap is named")
    assert at.audit("collect", "--telemetry-only").status == 0


def test_a_controller_that_is_down_costs_its_dumps_only(cluster: Cluster, at: Engagement) -> None:
    cluster.stop_controller()
    try:
        held = at.segments("node1")
        ran = at.audit("collect", "--json")
    finally:
        cluster.start_controller()
    assert ran.status == 4
    assert len(lines_about(ran, "ctl")) == 1
    assert at.segments("node1") > held
    assert any(name.startswith("sacct-") for name in ran.json["accounting"]["files"])
    assert said(cluster, "ctl")["alive"]
    cluster.wait_idle()


def test_a_database_that_is_down_costs_the_accounting_only(cluster: Cluster, at: Engagement) -> None:
    cluster.stop_database()
    try:
        held = at.segments("node1")
        ran = at.audit("collect", "--json")
    finally:
        cluster.start_database()
    assert ran.status == 4
    assert len(lines_about(ran, "ctl")) >= 1
    assert at.segments("node1") > held
    assert not any(name.startswith("sacct-") for name in ran.json["accounting"]["files"])
    assert at.audit("collect").status == 0


def test_an_older_collector_is_replaced_and_its_segments_stay(cluster: Cluster, at: Engagement, tmp_path: Path) -> None:
    older = tmp_path / "older.pyz"
    with zipfile.ZipFile(build(tmp_path / "now.pyz")) as now, zipfile.ZipFile(older, "w") as archive:
        for name in now.namelist():
            archive.writestr(name, now.read(name).replace(b'VERSION = "1.', b'VERSION = "0.'))
    share = cluster.home / "older.pyz"
    share.write_bytes(older.read_bytes())
    cluster.run(
        "node1", ["sh", "-c", f"cp /home/older.pyz {FOLDER}/collector.pyz; /etc/init.d/audit-collector restart"]
    )
    until(
        lambda: said(cluster, "node1")["alive"] and said(cluster, "node1")["version"].startswith("0."),
        "the older one runs",
    )
    held = set(cluster.run("node1", ["ls", f"{FOLDER}/spool"]).stdout.split())
    ran = at.audit("deploy", "--json")
    assert ran.status == 0, ran.err
    assert "node1" in [node["host"] for node in ran.json["installed"] if node["changed"]]
    assert said(cluster, "node1")["version"].startswith("1.")
    kept = set(cluster.run("node1", ["ls", f"{FOLDER}/spool"]).stdout.split())
    assert {name for name in held if name.endswith(".seg.gz")} <= kept
    share.unlink()


def test_a_second_engineer_at_a_node_gets_one_line(cluster: Cluster, at: Engagement) -> None:
    cluster.run(
        "node2", ["sh", "-c", "mkdir /run/audit-collector.lock; echo bob@laptop >/run/audit-collector.lock/who"]
    )
    ran = at.audit("deploy")
    assert ran.status == 4
    assert [line for line in lines_about(ran, "node2") if "bob@laptop" in line]
    assert len(ran.err.splitlines()) == 1
    cluster.run("node2", ["touch", "-d", "11 minutes ago", "/run/audit-collector.lock"])
    assert at.audit("deploy").status == 0  # a lock that a cut connection left is not for ever


def test_two_deploys_at_once_end_in_one_and_a_line(at: Engagement) -> None:
    script = "import sys; from audit.cli import main; sys.exit(main())"
    argv = [sys.executable, "-c", script, "deploy", "--dir", at.root]
    running = [subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    ended = [(process.communicate(timeout=120), process.returncode) for process in running]
    assert sorted(status for _, status in ended)[0] == 0
    ((_, err),) = [texts for texts, status in ended if status]
    assert "is at it" in err
    assert len(err.splitlines()) == 1


def test_another_engagement_leaves_ours_alone(cluster: Cluster, at: Engagement, tmp_path: Path) -> None:
    theirs = engagement(cluster, tmp_path, nodes="node2")
    ran = theirs.audit("deploy")
    assert ran.status == 1
    assert "--take-over" in lines_about(ran, "node2")[0]
    assert at.audit("status").status == 0


def test_who_may_not_become_root_is_told_so_and_not_that_nothing_is_there(cluster: Cluster, at: Engagement) -> None:
    for words in (["status"], ["collect", "--telemetry-only"]):
        ran = at.audit(*words, "--user", "engineer")
        assert ran.status == 1
        assert ["needs root" in line for line in ran.err.splitlines()] == [True] * 4


def test_what_is_planted_in_the_spool_is_not_handed_out(cluster: Cluster, at: Engagement) -> None:
    spool = f"{FOLDER}/spool"
    plant = {
        f"{spool}/node1-node-1-00000001.seg.gz": f"ln {FOLDER}/window.json",  # root's, by a second name
        f"{spool}/node1-node-2-00000002.seg.gz": "ln -s /etc/passwd",
        f"{spool}/node1-node-3-00000003.seg.gz": "mkfifo",
    }
    for path, how in plant.items():
        cluster.run("node1", ["sh", "-c", f"{how} {path}; chown -h audit-collector {path}"])
        cluster.run("node1", ["chown", "root", f"{FOLDER}/window.json"])
        ran = at.audit("collect", "--telemetry-only", "--json")
        assert ran.status in (0, 4)
        assert len(lines_about(ran, "node1")) == len(ran.err.splitlines()) <= 1
        assert not any(name in path for name in at.segments("node1"))
        cluster.run("node1", ["rm", path])
    ran = at.audit("collect", "--telemetry-only")
    assert ran.status == 0, ran.err


def test_a_longer_window_loses_nothing(cluster: Cluster, at: Engagement) -> None:
    before = at.audit("status", "--json").json
    ran = at.audit("deploy", "--days", "20", "--json")
    assert ran.status == 0, ran.err
    after = at.audit("status", "--json").json
    assert after["window_to_s"] == pytest.approx(before["window_from_s"] + 20 * 86_400)
    for old, new in zip(before["nodes"], after["nodes"], strict=True):
        assert new["alive"]
        assert new["watched_s"] >= old["watched_s"]
        assert new["gap_count"] <= old["gap_count"] + 1  # its restart


def test_a_collect_that_is_killed_is_made_good_by_the_next(at: Engagement) -> None:
    held = at.segments("node1")
    argv = [sys.executable, "-m", "audit", "collect", "--telemetry-only", "--dir", at.root]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        until(lambda: at.segments("node1") > held or running.poll() is not None, "a segment comes home")
        running.kill()
    ran = at.audit("collect", "--telemetry-only", "--json")
    assert ran.status == 0, ran.err
    assert [p for p in (at.root / "evidence").rglob("*") if p.suffix == ".part"] == []


def test_evidence_that_was_changed_is_named_and_fetched_again_once_it_is_gone(at: Engagement) -> None:
    folder = at.root / "evidence/telemetry/node1"
    segment = min(folder.iterdir())
    content = segment.read_bytes()
    segment.chmod(0o644)
    segment.write_bytes(content[:-9])
    ran = at.audit("collect", "--telemetry-only")
    assert ran.status != 0
    assert any(segment.name in line for line in ran.err.splitlines())
    segment.unlink()
    ran = at.audit("collect", "--telemetry-only")
    assert ran.status == 0, ran.err
    assert segment.read_bytes() == content


def test_a_watch_ends_when_it_is_interrupted(at: Engagement) -> None:
    script = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever started the tests
from audit.cli import main
sys.exit(main())"""
    argv = [sys.executable, "-c", script, "status", "--watch", "1", "--dir", at.root]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout
        assert "node" in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert len(err.splitlines()) == 1
