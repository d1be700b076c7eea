"""What a node hands over is taken only as far as it is what the node listed: names, hashes, plain files."""

import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from audit.fleet import collect
from audit.fleet.answer import Answer
from audit.workspace import Workspace, config_text, create_workspace

GOOD = "n1-node-1767225600-0011aabb.seg.gz"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return create_workspace(tmp_path / "e", config_text(cluster="alpha", timezone="UTC", nodes="n1"))


def listed(**files: bytes) -> dict[str, Any]:
    rows = [{"name": n, "size_bytes": len(b), "sha256": hashlib.sha256(b).hexdigest()} for n, b in files.items()]
    return {"installed": True, "segments": rows, "staged": list(files), "rotate_failed": None}


def tar(target: Path, **members: bytes | tarfile.TarInfo) -> None:
    with tarfile.open(target, "w") as archive:
        for name, content in members.items():
            if isinstance(content, bytes):
                item = tarfile.TarInfo(name)
                item.size = len(content)
                archive.addfile(item, io.BytesIO(content))
            else:
                archive.addfile(content)


def link(name: str) -> tarfile.TarInfo:
    item = tarfile.TarInfo(name)
    item.type, item.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return item


def fetched(workspace: Workspace, value: dict[str, Any], **members: Any) -> collect.Fetched:
    """What comes of a transfer with these members, after the node said this."""
    incoming = collect.emptied(workspace)
    if members:
        tar(incoming / "n1.tar", **members)
    came, more = collect.taken(workspace, Answer("n1", value), incoming, collect.Fetched("n1"))
    assert not more
    assert list(incoming.iterdir()) == [] or came.error
    return came


def test_a_listed_segment_comes_home_whole_and_once(workspace: Workspace) -> None:
    came = fetched(workspace, listed(**{GOOD: b"data"}), **{GOOD: b"data"})
    assert (came.segments, came.bytes, came.known, came.error) == (1, 4, 0, "")
    assert (workspace.evidence / "telemetry" / "n1" / GOOD).read_bytes() == b"data"
    again = fetched(workspace, listed(**{GOOD: b"data"}))
    assert (again.segments, again.known, again.error) == (0, 1, "")


def test_of_a_node_that_lists_nothing_it_is_not_known_what_was_here_before(workspace: Workspace) -> None:
    fetched(workspace, listed(**{GOOD: b"data"}), **{GOOD: b"data"})
    assert fetched(workspace, {}).known is None
    assert fetched(workspace, {"installed": False}).known is None


@pytest.mark.parametrize(
    ("said", "members"),
    [
        ({GOOD: b"data"}, {GOOD: b"dat"}),
        ({GOOD: b"data"}, {"n1-node-2-00.seg.gz": b"data"}),
        ({GOOD: b"data"}, {"../../audit.toml": b"data"}),
        ({"../../audit.toml": b"data"}, {"../../audit.toml": b"data"}),
        ({".seg.gz": b"data"}, {".seg.gz": b"data"}),
        ({"/etc/x.seg.gz": b"data"}, {"/etc/x.seg.gz": b"data"}),
        ({GOOD: b"data"}, {GOOD: link(GOOD)}),
    ],
)
def test_what_is_not_as_listed_is_refused(
    workspace: Workspace, said: dict[str, bytes], members: dict[str, Any]
) -> None:
    before = (workspace.root / "audit.toml").read_bytes()
    came = fetched(workspace, listed(**said), **members)
    assert "the transfer is damaged" in came.error
    assert [p for p in (workspace.evidence / "telemetry").rglob("*") if p.is_file()] == []
    assert (workspace.root / "audit.toml").read_bytes() == before


def test_what_cannot_be_kept_is_named_and_comes_with_the_next_run(workspace: Workspace) -> None:
    folder = workspace.evidence / "telemetry" / "n1"
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.touch()  # as a full disk does, it takes nothing
    came = fetched(workspace, listed(**{GOOD: b"data"}), **{GOOD: b"data"})
    assert "cannot be kept" in came.error
    folder.unlink()
    assert fetched(workspace, listed(**{GOOD: b"data"}), **{GOOD: b"data"}).segments == 1


def test_a_good_segment_before_a_bad_one_stays(workspace: Workspace) -> None:
    other = GOOD.replace("0011", "0022")
    came = fetched(workspace, listed(**{GOOD: b"a", other: b"b"}), **{GOOD: b"a", other: b"x"})
    assert "damaged" in came.error
    assert collect.held(workspace, "n1") == [GOOD]
