"""How the cluster's machines are reached, and what is odd about them: each named in one line, none left in doubt."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cluster import clock
from tests.cluster.cluster import Cluster
from tests.cluster.engagement import Ran, engagement


def about(ran: Ran, host: str) -> list[str]:
    return [line for line in ran.err.splitlines() if line.startswith(f"audit: {host}: ")]


@pytest.mark.parametrize("wrong", ["key", "locked key", "host key", "unknown host"])
def test_a_login_that_fails_is_a_line_for_each_machine_and_no_wait(
    cluster: Cluster, tmp_path: Path, wrong: str
) -> None:
    ssh = cluster.ssh_config.parent
    shutil.copytree(ssh, tmp_path / "ssh")
    (tmp_path / "ssh/config").write_text(cluster.ssh_config.read_text().replace(str(ssh), str(tmp_path / "ssh")))
    for key in ("id_ed25519", "other"):
        (tmp_path / "ssh" / key).unlink(missing_ok=key == "other")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "ssh" / key], check=True)
    if wrong != "key":
        shutil.copy(ssh / "id_ed25519", tmp_path / "ssh/id_ed25519")
    if wrong == "locked key":
        subprocess.run(["ssh-keygen", "-q", "-p", "-N", "secret", "-f", tmp_path / "ssh/id_ed25519"], check=True)
    if wrong == "host key":
        other = (tmp_path / "ssh/other.pub").read_text()
        known = [f"{line.split()[0]} {other}" for line in (ssh / "known_hosts").read_text().splitlines()]
        (tmp_path / "ssh/known_hosts").write_text("".join(known))
    if wrong == "unknown host":
        (tmp_path / "ssh/known_hosts").write_text("")
    at = engagement(cluster, tmp_path / "engagement")
    ran = at.audit("deploy", "--check", "--ssh-common-args", f"-F {tmp_path}/ssh/config", env={"SSH_AUTH_SOCK": ""})
    assert ran.status == 1
    says = "Permission denied" if "key" in wrong and wrong != "host key" else "Host key verification failed"
    assert [says in line for line in ran.err.splitlines()] == [True] * 4


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


def test_strange_mounts_and_what_still_runs_hinder_neither_start_nor_end(cluster: Cluster, tmp_path: Path) -> None:
    strange = "mount -o remount,noexec /tmp; mount --bind /var/lib /var/lib; mount -o remount,bind,noexec /var/lib"
    cluster.run("node1", ["sh", "-c", strange])
    cluster.run("node2", ["mount", "-o", "remount,hidepid=2", "/proc"])
    at = engagement(cluster, tmp_path)
    assert at.audit("deploy").status == 0
    told = at.audit("status", "--json").json["nodes"]
    assert {node["host"]: node["state"] for node in told} == dict.fromkeys((*cluster.nodes, "ctl"), "watching")
    cluster.run("node3", ["setpriv", "--reuid=audit-collector", "--clear-groups", "sh", "-c", "sleep 600 </dev/null &"])
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
