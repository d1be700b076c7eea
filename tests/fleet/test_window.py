"""The window and what is written down of it: when it runs, who is at it, and whether its coverage will do."""

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from audit.cli import main
from audit.errors import AuditError, UsageError
from audit.fleet.ansible import Reach, ask
from audit.fleet.answer import Answer
from audit.fleet.deploy import Checked, refuse_other_cluster
from audit.fleet.deployment import Deployment, deployed, load, locked, save, who, window
from audit.fleet.slice import Target
from audit.fleet.watch import Fared, coverage_at_end, not_seen, projected, watch
from audit.workspace import Config, Workspace, config_text, create_workspace

DAY_S = 86_400
NODES = (Target("n1", "n1", ("node",)), Target("n2", "n2", ("node",)), Target("ctl", "ctl", ("controller",)))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return create_workspace(tmp_path, config_text(cluster="alpha", timezone="UTC", nodes="n[1-2]"))


def deployment(from_s: float = 1000.0, to_s: float = 2000.0, **more: object) -> Deployment:
    return Deployment(
        engagement="e", window_from_s=from_s, window_to_s=to_s, by="ann@pc", at_s=from_s, targets=NODES, **more
    )  # type: ignore[arg-type]


def with_window(workspace: Workspace, **bounds: datetime | None) -> Workspace:
    return Workspace(workspace.root, Config(cluster="alpha", timezone="UTC", **bounds))  # type: ignore[arg-type]


def test_a_window_without_bounds_runs_from_now_for_fourteen_days(workspace: Workspace) -> None:
    from_s, to_s = window(workspace, None, None)
    assert to_s - from_s == 14 * DAY_S
    assert abs(from_s - datetime.now(UTC).timestamp()) < 60


def test_a_second_deploy_keeps_the_window_of_the_first(workspace: Workspace) -> None:
    ahead_s = datetime.now(UTC).timestamp() + DAY_S
    known = deployment(ahead_s - 5 * DAY_S, ahead_s)
    assert window(workspace, known, None) == (known.window_from_s, known.window_to_s)
    assert window(workspace, known, 10) == (known.window_from_s, known.window_from_s + 10 * DAY_S)


def test_the_window_of_the_configuration_goes_first_and_never_begins_in_the_past(workspace: Workspace) -> None:
    now = datetime.now(UTC)
    coming = with_window(workspace, window_from=now + timedelta(days=1), window_to=now + timedelta(days=8))
    assert window(coming, None, None) == ((now + timedelta(days=1)).timestamp(), (now + timedelta(days=8)).timestamp())
    begun = with_window(workspace, window_from=now - timedelta(days=1), window_to=now + timedelta(days=8))
    assert abs(window(begun, None, None)[0] - now.timestamp()) < 60


def test_a_window_that_is_over_is_refused(workspace: Workspace) -> None:
    over = with_window(workspace, window_to=datetime(2026, 1, 2, tzinfo=UTC))
    with pytest.raises(UsageError, match="the window ended at 2026-01-02 00:00 UTC"):
        window(over, None, None)


def test_a_window_that_ends_before_it_begins_is_refused(workspace: Workspace) -> None:
    now = datetime.now(UTC)
    known = deployment((now + timedelta(days=3)).timestamp(), (now + timedelta(days=5)).timestamp())
    with pytest.raises(UsageError, match="the window ends before it begins"):
        window(with_window(workspace, window_to=now + timedelta(days=1)), known, None)


def test_who_is_at_work_is_told_of_an_account_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 4_000_000_000)
    assert who().startswith("user 4000000000@")


def test_what_is_deployed_is_read_as_it_was_written(workspace: Workspace) -> None:
    assert load(workspace) is None
    with pytest.raises(UsageError, match="nothing is deployed"):
        deployed(workspace)
    whole = deployment(days_done=("2026-05-01",))
    with locked(workspace):
        save(workspace, whole)
    assert deployed(workspace) == whole
    assert [t.host for t in whole.without({"n1", "ctl"}).targets] == ["n2"]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"targets": [{"host": "n1"}], "days_done": []}', '{"targets": 1}'])
def test_a_damaged_deployment_file_is_one_line(workspace: Workspace, text: str) -> None:
    workspace.fleet.mkdir()
    (workspace.fleet / "deployment.json").write_text(text)
    with pytest.raises(AuditError, match=r"deployment\.json: cannot be read"):
        load(workspace)


def test_two_at_once_in_a_folder_is_one_line_that_says_who(workspace: Workspace) -> None:
    other = (
        "import sys, pathlib; from audit.workspace import find_workspace; from audit.fleet.deployment import locked\n"
        "with locked(find_workspace(pathlib.Path(sys.argv[1]))): pass"
    )
    with locked(workspace):
        refused = subprocess.run(
            [sys.executable, "-c", other, workspace.root], capture_output=True, text=True, check=False
        )
    assert f"@{__import__('socket').gethostname()}" in refused.stderr.splitlines()[-1]
    assert subprocess.run([sys.executable, "-c", other, workspace.root], check=False).returncode == 0


@pytest.mark.parametrize(
    ("said", "now_s", "expected"),
    [
        ({"watched_s": 400, "alive": True}, 1500, 0.9),  # 400 s so far, 500 s to come, of 1000
        ({"watched_s": 400, "alive": False}, 1500, 0.4),
        ({"watched_s": 0, "alive": True}, 900, 1.0),  # not begun yet
        ({"watched_s": 990, "alive": False}, 2500, 0.99),
        ({"watched_s": 990, "alive": True}, 2500, 0.99),
        ({}, 1500, None),
        ({"installed": False}, 1500, 0.0),
    ],
)
def test_the_share_watched_at_the_end_is_what_was_and_what_is_left(
    said: dict[str, object], now_s: float, expected: float | None
) -> None:
    assert projected(deployment(), Answer("n1", said), now_s) == expected


def test_a_node_that_tells_nothing_is_not_known_and_the_controller_counts_not_at_all() -> None:
    fared = [
        Fared(NODES[0], Answer("n1", {"installed": True}), 0.9),
        Fared(NODES[1], Answer("n2", {}, "cannot be reached"), None),
        Fared(NODES[2], Answer("ctl", {"installed": True}), 0.1),
    ]
    assert coverage_at_end(fared) == pytest.approx(0.9)
    assert [node.told for node in fared] == [True, False, True]
    lacking = Fared(NODES[1], Answer("n2", {"installed": False}), 0.0)
    assert coverage_at_end([fared[0], lacking]) == pytest.approx(0.45)
    assert coverage_at_end([]) is coverage_at_end(fared[1:]) is None


def test_a_planned_host_without_a_collector_is_told_of_until_it_is_torn_down() -> None:
    planned = replace(deployment(), targets=(), planned=NODES)
    fared = watch(planned, Reach(), lambda host, what: None)
    assert [(node.target.host, node.state, node.lacking) for node in fared] == [
        (host, "no collector", True) for host in ("n1", "n2", "ctl")
    ]
    assert [t.host for t in planned.without({"n1", "ctl"}).planned] == ["n2"]


def test_what_is_not_seen_is_said_once_with_its_hosts() -> None:
    blind = {"installed": True, "nvml": "failed: NVML_ERROR_UNKNOWN", "gpus": 0, "degraded": ["no Lustre"]}
    fared = [
        Fared(NODES[0], Answer("n1", blind), 0.9),
        Fared(NODES[1], Answer("n2", {"installed": True, "nvml": "ok", "gpus": 4, "degraded": ["no Lustre"]}), 0.9),
    ]
    assert not_seen(fared) == {"nvml: failed: NVML_ERROR_UNKNOWN": ["n1"], "no Lustre": ["n1", "n2"]}
    assert [node.row["GPUs"] for node in fared] == [None, 4]


@pytest.mark.parametrize(
    ("roles", "cluster"), [(("node",), "beta"), (("controller",), None), (("controller",), "alpha")]
)
def test_only_the_controller_decides_which_cluster_it_is(
    workspace: Workspace, roles: tuple[str, ...], cluster: str | None
) -> None:
    refuse_other_cluster(workspace, [Checked(Target("h", "h", roles), Answer("h", {"cluster": cluster}), "")])


def test_a_controller_of_another_cluster_stops_the_whole_deploy(workspace: Workspace) -> None:
    checked = [Checked(NODES[0], Answer("n1", {}), ""), Checked(NODES[2], Answer("ctl", {"cluster": "beta"}), "x")]
    with pytest.raises(UsageError, match=r"'beta'.*'alpha'"):
        refuse_other_cluster(workspace, checked)


def test_a_window_that_is_over_is_refused_before_any_node_is_asked(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    path = workspace.root / "audit.toml"
    path.write_text(f"{path.read_text()}\n[window]\nto = 2026-01-02T00:00:00Z\n")
    assert main(["deploy", "--dir", str(workspace.root)]) == 2
    assert str(path) in capsys.readouterr().err


def test_without_ssh_nothing_is_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="`ssh`"):
        ask("check", {"n1": {}}, Reach())


def test_collect_of_a_window_gone_whose_accounting_is_whole_has_nothing_to_do(workspace: Workspace) -> None:
    assert main(["collect", "--dir", str(workspace.root)]) == 2  # nothing was ever deployed
    gone = replace(deployment(0.0, 86_400.0 * 2 - 1, days_done=("1970-01-01", "1970-01-02")), targets=())
    with locked(workspace):
        save(workspace, gone)
    assert main(["collect", "--dir", str(workspace.root)]) == 0
