"""A node that was taken over answers what it likes: nothing of it stops a command, moves a cursor or leaves its place."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from audit.fleet import collect
from audit.fleet.answer import Answer, answer_in
from audit.fleet.deployment import Deployment
from audit.fleet.fitness import row, skew_s, unfit
from audit.fleet.slice import Target
from audit.fleet.watch import Fared, coverage_at_end, not_seen, projected
from audit.terminal import print_json, print_table, say
from audit.verbs.fleet import SAID
from audit.workspace import Workspace, config_text, create_workspace

NODE = Target("n1", "n1", ("node",))
CHECKED = (
    "root",
    "init",
    "cluster",
    "engagement",
    "by",
    "cgroup_layout",
    "nvidia_driver",
    "slurm_version",
    "collector",
)
LISTED = ("segments", "staged", "rotate_failed", "written", "left", "uncollected", "nodes", "failed", "files")
JUNK = [
    *(
        None,
        True,
        0,
        -1,
        10**18,
        -(10**18),
        0.5,
        "",
        "x",
        "\x1b[2J\x07\u202e",
        [],
        {},
        [1, "x", None, {}, []],
        {"a": {}},
    ),
    [{"from_s": "x", "to_s": [], "reason": "\x1b]0;x\x07"}],
    [{"name": ["x"], "sha256": {}, "size_bytes": "x"}],
    "A" * 100_000,
]


def answered(junk: object) -> Answer:
    """As Ansible tells it: all that is ever asked for is this."""
    said = json.dumps(dict.fromkeys((*SAID, *CHECKED, *LISTED), junk) | {"installed": True})
    told = {"host": "n1", "res": {"stdout": said, "changed": junk}, "start": "x", "end": junk}
    answer = answer_in({"event": "runner_on_ok", "event_data": told})
    assert answer is not None
    return answer


@pytest.mark.parametrize("junk", JUNK, ids=range(len(JUNK)))
def test_whatever_a_node_says_the_tables_stand(
    junk: object, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    answer = answered(junk)
    deployment = Deployment("e", 1000.0, 2000.0, "ann@pc", 1000.0, targets=(NODE,))
    fared = Fared(NODE, answer, projected(deployment, answer, 1500.0))
    share = coverage_at_end([fared])
    assert share is None or 0 <= share <= 1
    why = unfit(answer, "alpha", "mine", take_over=False)
    skew_s(answer)
    workspace = create_workspace(tmp_path, config_text(cluster="alpha", timezone="UTC", nodes="n1"))
    came, more = collect.taken(workspace, answer, collect.emptied(workspace), collect.Fetched("n1"))
    assert not more
    assert all(hosts == ["n1"] for hosts in not_seen([fared]).values())
    for shown in (fared.row, row(answer, NODE, why)):
        print_table([shown])
        print_json([shown])
    say(f"audit: n1: {why} {came.error}")
    printed = capsys.readouterr()
    assert not {"\x1b", "\x07", "\u202e"} & set(printed.out + printed.err)
    assert len(printed.err.splitlines()) == 1


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return create_workspace(tmp_path, config_text(cluster="alpha", timezone="UTC", nodes="n1"))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE]
)
def test_nothing_but_plain_files_is_taken_from_an_archive(workspace: Workspace, kind: bytes) -> None:
    name = "n1-node-1-00.seg.gz"
    incoming = collect.emptied(workspace)
    with tarfile.open(incoming / "n1.tar", "w") as archive:
        item = tarfile.TarInfo(name)
        item.type, item.linkname, item.devmajor = kind, "/etc/passwd", 1
        archive.addfile(item)
    refused(workspace, incoming, {"segments": [{"name": name, "sha256": "0" * 64}]})


@pytest.mark.parametrize("content", [b"", b"garbage" * 1000, b"\0" * 10_240, b"\x1f\x8b" + b"\0" * 2000])
def test_what_is_no_archive_is_named(workspace: Workspace, content: bytes) -> None:
    incoming = collect.emptied(workspace)
    (incoming / "n1.tar").write_bytes(content)
    came, more = collect.taken(workspace, Answer("n1", {"segments": []}), incoming, collect.Fetched("n1"))
    assert not more
    assert came.segments == 0
    assert list(incoming.iterdir()) == []


def test_a_size_no_segment_has_is_refused_unread(workspace: Workspace) -> None:
    name = "n1-node-1-00.seg.gz"
    incoming = collect.emptied(workspace)
    item = tarfile.TarInfo(name)
    item.size = 2 * 2**30
    with (incoming / "n1.tar").open("wb") as file:
        file.write(item.tobuf())
        file.truncate(item.size)  # a hole: it takes no room here
    refused(workspace, incoming, {"segments": [{"name": name, "sha256": "0" * 64}]})


def refused(workspace: Workspace, incoming: Path, said: dict[str, Any]) -> None:
    came, more = collect.taken(workspace, Answer("n1", said), incoming, collect.Fetched("n1"))
    assert came.error
    assert not more
    assert [path for path in (workspace.evidence / "telemetry").rglob("*") if path.is_file()] == []
    assert list(incoming.iterdir()) == []
