"""The measurement window on a real cluster, from deploy to teardown, with jobs of known use in it."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from audit.accounting.views import create_use_views
from audit.store import open_current
from audit.workspace import find_workspace
from tests.cluster import jobs
from tests.cluster.cluster import Cluster
from tests.cluster.engagement import Engagement, Ran, engagement
from tests.collectors import nvml

FOLDER = "/var/lib/audit-collector"
SECRETS = {
    "environment": "hush-environment-5d1c",
    "argument": "hush-argument-5d1c",
    "file": "hush-file-5d1c",
    "folder": "hush-folder-5d1c",
    "comment": "hush-comment-5d1c",
    "program": "hush-prog-5d1c",
    "name": "hush-name-5d1c",
}
"""What a job carried in it that is nobody's business."""


@dataclass(frozen=True)
class Window:
    """What each step of the window answered, and the jobs that ran in it."""

    at: Engagement
    checked: Ran
    unprivileged: Ran
    deployed: Ran
    again: Ran
    mix: dict[str, jobs.Known]
    secret_job: str
    ended: list[list[str]]
    status: Ran
    on_nodes: dict[str, dict[str, bytes]]
    collected: Ran
    repeated: Ran
    sacct: list[list[str]]
    report: Ran
    torn_down: Ran
    gone: Ran
    before: dict[str, list[str]]
    between: dict[str, list[str]]
    after: dict[str, list[str]]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the store answers."""
        workspace = find_workspace(self.at.root)
        with open_current(workspace, print) as store:
            create_use_views(store.connection, workspace)
            return store.connection.execute(query).fetchall()

    def used(self, column: str) -> dict[str, list[Any]]:
        """A column of `usage` by job number, each attempt of it."""
        found: dict[str, list[Any]] = {}
        query = f"""SELECT split_part(split_part(job_id, '_', 1), '+', 1), {column}
            FROM usage JOIN job USING (cluster, job_id_raw, submit) WHERE start_time IS NOT NULL"""
        for job, value in self.rows(query):
            found.setdefault(job, []).append(value)
        return found

    def measured(self, column: str) -> dict[str, list[Any]]:
        """The same, of attempts that were watched as far as is asked of a measurement."""
        values = self.used(f"CASE WHEN usage.watched_share >= 0.95 THEN {column} END")
        return {job: [value for value in of if value is not None] for job, of in values.items()}


@pytest.fixture(scope="module")
def window(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Window]:
    machines = [*cluster.nodes, cluster.controller]
    at = engagement(cluster, tmp_path_factory.mktemp("window"))
    before = {machine: cluster.listing(machine) for machine in machines}
    checked = at.audit("deploy", "--check", "--json")
    unprivileged = at.audit("deploy", "--check", "--user", "engineer")
    between = {machine: cluster.listing(machine) for machine in machines}
    deployed = at.audit("deploy", "--json")
    again = at.audit("deploy", "--json")
    watch_gpus(cluster, "node1")
    secret_job = submit_secrets(cluster)
    mix = jobs.run(cluster)
    ended = cluster.sacct("-X", "-D", "-j", ",".join(job.id for job in mix.values()), "-o", "JobID,State,NNodes")
    status = at.audit("status", "--json")
    collected = at.audit("collect", "--user", "engineer", "--become", "--json")
    repeated = at.audit("collect", "--json")
    on_nodes = {machine: cluster.files(machine, FOLDER) for machine in machines}
    sacct = cluster.sacct("-a", "-D", "-X", "-o", "ElapsedRaw,AllocCPUS,State")
    report = at.audit("report", "--format", "json", "--json")
    torn_down = at.audit("teardown", "--json")
    gone = at.audit("collect", "--json")
    after = {machine: cluster.listing(machine) for machine in machines}
    yield Window(
        at,
        checked,
        unprivileged,
        deployed,
        again,
        mix,
        secret_job,
        ended,
        status,
        on_nodes,
        collected,
        repeated,
        sacct,
        report,
        torn_down,
        gone,
        before,
        between,
        after,
    )


def submit_secrets(cluster: Cluster) -> str:
    """A job with a secret wherever a job can have one; the job's number."""
    s = SECRETS
    script = f"""cd; mkdir {s["folder"]}; cd {s["folder"]}; cp /bin/sleep {s["program"]}; exec 5>{s["file"]}
./{s["program"]} 20 & exec -a {s["argument"]} sleep 20"""
    options = ["-w", "node3", "--mem=200M", f"--job-name={s['name']}", f"--comment={s['comment']}"]
    return cluster.submit("alice", *options, f"--export=ALL,TOKEN={s['environment']}", script=script)


def watch_gpus(cluster: Cluster, machine: str) -> None:
    """Lets the machine's collector see four cards through the stand-in for the driver: 1 and 2 busy, 0 and 3 idle."""
    folder = cluster.home / "driver"
    folder.mkdir(mode=0o755)
    library = nvml.build(folder)
    script = nvml.write(folder / "script", *nvml.cards(4), "gpu 1 util 0:80", "gpu 2 util 0:80")
    shutil.chown(folder, "root")
    inside = {"AUDIT_NVML_LIBRARY": f"/home/driver/{library.name}", "AUDIT_NVML_SCRIPT": f"/home/driver/{script.name}"}
    words = [f"{name}={value}" for name, value in inside.items()]
    cluster.run(machine, ["env", *words, "/etc/init.d/audit-collector", "restart"])


def test_every_machine_is_checked_first_and_nothing_stays_there(window: Window) -> None:
    assert window.checked.status == 0
    assert {row["node"]: row["fit"] for row in window.checked.json} == dict.fromkeys(window.before, "yes")
    assert all(row["skew s"] == 0 and row["slurm"] and row["python"] for row in window.checked.json)
    assert window.between == window.before


def test_who_cannot_become_root_is_told_so_for_each_machine(window: Window) -> None:
    assert window.unprivileged.status == 1
    assert [line for line in window.unprivileged.err.splitlines() if "needs root" not in line] == []
    assert len(window.unprivileged.err.splitlines()) == len(window.before)


def test_deploy_puts_a_collector_on_every_machine(window: Window) -> None:
    assert window.deployed.status == 0, window.deployed.err
    assert all(node["changed"] and not node["error"] for node in window.deployed.json["installed"])


def test_a_second_deploy_changes_nothing(window: Window) -> None:
    assert window.again.status == 0
    assert [node["host"] for node in window.again.json["installed"] if node["changed"]] == []


def test_jobs_of_known_use_end_as_known(window: Window) -> None:
    for name, job in window.mix.items():
        own = [row for row in window.ended if row[0].split("_")[0].split("+")[0] == job.id]
        runs = ["REQUEUED"] * job.restarts + [job.state]
        assert sorted({row[1].split()[0] for row in own}) == sorted(set(runs)), name
        assert len(own) == job.tasks + job.restarts, name
        if name != "never_started":
            assert {row[2] for row in own} == {str(job.nodes)}, name


def test_no_collector_fell(window: Window) -> None:
    said = {machine: files.get(f"{FOLDER}/spool/errors", b"").decode() for machine, files in window.on_nodes.items()}
    assert said == dict.fromkeys(said, "")
    assert window.rows("SELECT node, from_time FROM collector_gap WHERE reason = 'killed'") == []


def test_no_secret_of_a_job_is_kept(window: Window) -> None:
    assert window.rows(f"SELECT 1 FROM sample_job WHERE job = '{window.secret_job}'")  # it was watched
    evidence = {str(path): path.read_bytes() for path in Path(window.at.root, "evidence").rglob("*") if path.is_file()}
    telemetry = {path: content for path, content in evidence.items() if "/telemetry/" in path}
    assert telemetry
    assert all(files for files in window.on_nodes.values())
    for files in (telemetry, *window.on_nodes.values()):
        assert kept(files, SECRETS.values()) == []
    # Its name stands in the accounting, where it stands in Slurm; nothing else of it does.
    assert kept(evidence, set(SECRETS.values()) - {SECRETS["name"]}) == []


def kept(files: dict[str, bytes], secrets: Iterable[str]) -> list[str]:
    """The files that hold one of them, in their name, as they are, or packed."""
    return [
        path
        for path, content in files.items()
        if any(secret.encode() in path.encode() + content + unpacked(content) for secret in secrets)
    ]


def unpacked(content: bytes) -> bytes:
    """What is packed in it with zlib or gzip, member by member as far as they are whole."""
    found = b""
    while content:
        member = zlib.decompressobj(wbits=47)
        try:
            found += member.decompress(content)
        except zlib.error:
            break
        content = member.unused_data
    return found


def test_status_tells_that_the_window_will_be_covered(window: Window) -> None:
    told = window.status.json
    assert window.status.status == 0
    assert told["will_be_met"] is True
    assert (told["nodes_asked"], told["nodes_planned"]) == (3, 3)
    assert {node["state"] for node in told["nodes"]} == {"watching"}
    assert all(node["own_rss_bytes"] < 25 * 2**20 for node in told["nodes"])


def test_collect_brings_everything_home_and_a_repeat_only_what_is_new(window: Window) -> None:
    assert window.collected.status == 0, window.collected.err
    first, second = ({f["host"]: f for f in ran.json["telemetry"]} for ran in (window.collected, window.repeated))
    assert set(first) == set(window.before)
    assert all(f["segments"] > 0 and f["error"] == "" for f in first.values())
    assert all(second[host]["known"] == f["segments"] and second[host]["segments"] <= 2 for host, f in first.items())
    assert [r["error"] for ran in (window.collected, window.repeated) for r in ran.json["ingested"] if r["error"]] == []


def test_most_jobs_were_watched_from_start_to_end(window: Window) -> None:
    # On a machine with much else to do, samples come late, and what is watched less than 95 % counts as not measured.
    shares = [share for job in window.used("usage.watched_share").values() for share in job]
    assert sum(share is not None and share >= 0.95 for share in shares) >= 0.8 * len(shares)


def test_memory_is_measured_within_five_percent(window: Window) -> None:
    measured = window.measured("mem_used_bytes")
    known = {name: job for name, job in window.mix.items() if job.mem_bytes is not None}
    assert {name: measured[job.id] for name, job in known.items()} == {
        name: pytest.approx(
            [job.mem_bytes * job.nodes] * len(measured[job.id]),
            rel=0.05,
            abs=12 * jobs.MIB,  # a job's own shell and slurmstepd
        )
        for name, job in known.items()
    }
    source = window.measured("mem_source")
    assert {s for job in known.values() for s in source[job.id]} == {"cgroup"}


def test_cpu_is_measured_within_five_percent(window: Window) -> None:
    measured = window.measured("cores_used * usage.elapsed_s")
    known = {name: job for name, job in window.mix.items() if job.cpu_s is not None}
    assert {name: measured[job.id] for name, job in known.items()} == {
        name: pytest.approx([job.cpu_s * job.nodes] * len(measured[job.id]), rel=0.05, abs=0.05)
        for name, job in known.items()
    }


def test_a_job_on_gpus_one_and_two_is_charged_those(window: Window) -> None:
    job = window.mix["gpu_one_two"]
    held = window.rows(
        f"SELECT DISTINCT gpu_index FROM allocation_seen WHERE job_id = '{job.id}' AND state = 'RUNNING'"
    )
    assert held == [("1,2",)]
    assert window.used("gpus_used")[job.id] == [2]
    assert window.used("gpu_util")[job.id] == [pytest.approx(80, abs=1)]
    assert window.used("gpus_used")[window.mix["blocker"].id] == [0]


def test_what_ended_by_a_limit_is_a_bound(window: Window) -> None:
    censored = window.used("is_censored")
    assert {name for name in ("oom", "timeout") if censored[window.mix[name].id] == [True]} == {"oom", "timeout"}


def test_the_report_tells_what_was_lost_and_how(window: Window) -> None:
    lost = {row["cause"]: row["attempts"] for row in window.report.json["lost"]}
    assert lost == dict.fromkeys(("FAILED", "TIMEOUT", "REQUEUED", "OUT_OF_MEMORY"), 1)


def test_held_hours_agree_with_sacct(window: Window) -> None:
    core_s = sum(float(elapsed) * float(cores) for elapsed, cores, state in window.sacct if state != "PENDING")
    held = window.rows("SELECT sum(held_cores * elapsed_s) FROM usage")
    assert held == [(pytest.approx(core_s, rel=0.001),)]


def test_a_report_comes_of_it(window: Window) -> None:
    assert window.report.status == 0, window.report.err


def test_teardown_leaves_each_machine_as_it_was(window: Window) -> None:
    assert window.torn_down.status == 0, window.torn_down.err
    assert all(node["clean"] for node in window.torn_down.json)
    assert window.after == window.before


def test_collect_asks_the_accounting_of_a_window_that_is_torn_down(window: Window) -> None:
    assert window.gone.status == 0, window.gone.err
    assert window.gone.json["telemetry"] == []
    assert any(name.startswith("sacct-") for name in window.gone.json["accounting"]["files"])
