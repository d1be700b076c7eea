"""How the cluster's machines are reached, and what is odd about them: each named in one line, none left in doubt."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.cluster import clock
from tests.cluster.cluster import Cluster
from tests.cluster.engagement import Engagement, Ran, engagement


def about(ran: Ran, host: str) -> list[str]:
    return [line for line in ran.err.splitlines() if line.startswith(f"audit: {host}: ")]


def states(at: Engagement) -> dict[str, str]:
    return {node["host"]: node["state"] for node in at.audit("status", "--json").json["nodes"]}


@pytest.mark.parametrize("wrong", ["key", "locked key", "host key", "unknown host"])
def test_a_login_that_fails_is_a_line_for_each_machine_and_no_wait(
    cluster: Cluster, tmp_path: Path, wrong: str
) -> None:
    ssh = cluster.ssh_config.parent
    shutil.copytree(ssh, tmp_path / "ssh")
    at = engagement(cluster, tmp_path)
    for path in (at.root / "audit.toml", tmp_path / "ssh/hosts.ini", tmp_path / "ssh/config"):
        path.write_text(path.read_text().replace(str(ssh), str(tmp_path / "ssh")))
    for key in ("id_ed25519", "other"):
        (tmp_path / "ssh" / key).unlink(missing_ok=key == "other")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "ssh" / key], check=True)
    if wrong != "key":
        for name in ("id_ed25519", "id_ed25519.pub"):
            shutil.copy(ssh / name, tmp_path / "ssh" / name)
    if wrong == "locked key":
        subprocess.run(["ssh-keygen", "-q", "-p", "-N", "secret", "-f", tmp_path / "ssh/id_ed25519"], check=True)
    if wrong == "host key":
        other = (tmp_path / "ssh/other.pub").read_text()
        known = [f"{line.split()[0]} {other}" for line in (ssh / "known_hosts").read_text().splitlines()]
        (tmp_path / "ssh/known_hosts").write_text("".join(known))
    if wrong == "unknown host":
        (tmp_path / "ssh/known_hosts").write_text("")
    ran = at.audit("deploy", "--check", env={"SSH_AUTH_SOCK": ""})
    assert ran.status == 1
    says = "Permission denied" if "key" in wrong and wrong != "host key" else "Host key verification failed"
    assert [says in line for line in ran.err.splitlines()] == [True] * 4, ran.err


def test_a_controller_of_another_cluster_stops_the_deploy_everywhere(cluster: Cluster, tmp_path: Path) -> None:
    at = engagement(cluster, tmp_path)
    toml = at.root / "audit.toml"
    toml.write_text(toml.read_text().replace('cluster = "', 'cluster = "not-'))
    ran = at.audit("deploy")
    assert ran.status == 2
    assert len(ran.err.splitlines()) == 1
    for machine in (*cluster.nodes, "ctl"):
        assert cluster.run(machine, ["ls", "-d", "/var/lib/audit-collector"], check=False).stdout == ""


def test_a_node_with_another_time_gets_no_collector(cluster: Cluster, tmp_path: Path) -> None:
    if clock.build(cluster.ground.base) is None:
        pytest.skip("no C compiler")
    cluster.step_clock("node2", 7200)
    at = engagement(cluster, tmp_path)
    try:
        ran = at.audit("deploy", "--check", "--json")
    finally:
        cluster.step_clock("node2", 0)
        cluster.run("node2", ["rm", "/etc/ld.so.preload"])
    assert ran.status == 4
    (row,) = [row for row in ran.json if row["fit"] == "no"]
    assert row["node"] == "node2"
    assert row["skew s"] == pytest.approx(7200, abs=30)


def test_a_node_where_sudo_asks_for_a_password_is_named(cluster: Cluster, tmp_path: Path) -> None:
    rule = "/etc/sudoers.d/engineer"
    kept = cluster.run("node2", ["cat", rule]).stdout
    cluster.run("node2", ["tee", rule], input=kept.replace("NOPASSWD:", ""))
    try:
        ran = engagement(cluster, tmp_path).audit("deploy", "--check", "--user", "engineer", "--become")
    finally:
        cluster.run("node2", ["tee", rule], input=kept)
    assert ran.status == 4
    assert len(ran.err.splitlines()) == len(about(ran, "node2")) == 1


def test_a_window_that_ended_while_the_node_was_off_is_closed(cluster: Cluster, tmp_path: Path) -> None:
    at = engagement(cluster, tmp_path, nodes="node3")
    assert at.audit("deploy", "--days", "0.0002").status == 0  # 17 s
    ends_s = at.audit("status", "--json").json["window_to_s"]
    time.sleep(max(0.0, ends_s - time.time() - 6))
    cluster.power_off("node3")
    time.sleep(max(0.0, ends_s - time.time() + 1))
    cluster.power_on("node3")
    end_s = time.time() + 60
    while (state := states(at)["node3"]) != "window over":
        assert time.time() < end_s, state
    assert at.audit("collect", "--telemetry-only").status == 0
    assert at.segments("node3")
    assert at.audit("teardown").status == 0
    cluster.wait_idle()


def test_strange_mounts_and_what_still_runs_hinder_neither_start_nor_end(cluster: Cluster, tmp_path: Path) -> None:
    strange = "mount -o remount,noexec /tmp; mount --bind /var/lib /var/lib; mount -o remount,bind,noexec /var/lib"
    cluster.run("node1", ["sh", "-c", strange])
    cluster.run("node2", ["mount", "-o", "remount,hidepid=2", "/proc"])
    at = engagement(cluster, tmp_path)
    assert at.audit("deploy").status == 0
    assert states(at) == dict.fromkeys((*cluster.nodes, "ctl"), "watching")
    cluster.run(
        "node3",
        ["setpriv", "--reuid=audit-collector", "--clear-groups", "sh", "-c", "sleep 600 <>/dev/null >&0 2>&0 &"],
    )
    cluster.power_off("node2")
    ran = at.audit("teardown", "--discard", "--json")
    assert ran.status == 4
    assert {node["host"]: node["clean"] for node in ran.json} == {m: m != "node2" for m in (*cluster.nodes, "ctl")}
    assert len(about(ran, "node2")) == len(ran.err.splitlines()) == 1
    cluster.power_on("node2")
    ran = at.audit("teardown", "--discard", "--json")
    assert (ran.status, [node["host"] for node in ran.json]) == (0, ["node2"])
    cluster.run("node1", ["sh", "-c", "umount -l /var/lib; mount -o remount,exec /tmp"])
    cluster.wait_idle()
