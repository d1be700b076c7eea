"""A model comes back as it was saved, or one line says what is wrong with it; nothing in it is ever run."""

import hashlib
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import AuditError
from audit.sizing import model_file
from audit.sizing.model_file import load, save

ARRAYS = {
    "bound": np.array([0.5, np.nan, -np.inf]),
    "memory/column": np.array([[1, -1], [2, 3]], np.int16),
    "left": np.array([True, False, True]),
    "none": np.zeros((0, 3), np.float32),
    "one": np.array(7, np.int64),
}
CARD = {"attempts": 12, "from": None, "users": ["ann", "\ud800\n"], "coverage": {"0.9": 0.91}}


def saved(folder: Path, value: float = 1.0) -> Path:
    save(folder, "memory", {"value": np.array([value])}, {"value": value})
    return folder / "memory.card.json"


def arrays_file(folder: Path) -> Path:
    digest = json.loads((folder / "memory.card.json").read_text())["sha256"]
    return folder / f"memory-{digest}.arrays"


def forged(folder: Path, content: bytes, **said: Any) -> None:
    """A model by somebody who can write the folder: the hashes are right, unless `said` names others."""
    head: dict[str, Any] = {"format": model_file.FORMAT, "name": "memory", "arrays": [], "card": {}} | said
    layout = json.dumps(["memory", head["arrays"]]).encode()
    digest = hashlib.sha256(layout + b"\0" + content).hexdigest()
    hashes = {"sha256": digest, "card_sha256": hashlib.sha256(json.dumps(head["card"]).encode()).hexdigest()}
    (folder / f"memory-{digest}.arrays").write_bytes(content)
    (folder / "memory.card.json").write_text(json.dumps(head | hashes | said))


def test_a_model_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    save(tmp_path / "models", "memory.v1", ARRAYS, CARD)
    model = load(tmp_path / "models", "memory.v1")
    assert dict(model.card) == CARD
    assert list(model.arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        found = model.arrays[name]
        assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.shape, array.tobytes())
        assert not found.flags.writeable


def test_order_in_memory_and_byte_order_do_not_matter(tmp_path: Path) -> None:
    table = np.arange(6, dtype=">i4").reshape(2, 3)
    save(tmp_path, "memory", {"rows": table, "columns": np.asfortranarray(table), "every_other": table[:, ::2]}, {})
    arrays = load(tmp_path, "memory").arrays
    assert arrays["rows"].tolist() == arrays["columns"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert arrays["every_other"].tolist() == [[0, 2], [3, 5]]


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(tmp_path / name, "memory", ARRAYS, CARD)
    first, second = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("a", "b"))
    assert first == second


def test_a_crash_before_the_card_is_replaced_leaves_the_old_model(tmp_path: Path) -> None:
    old = saved(tmp_path, 1.0).read_bytes()
    saved(tmp_path, 2.0).write_bytes(old)  # all that the second saving did before its last step
    model = load(tmp_path, "memory")
    assert (model.arrays["value"].tolist(), dict(model.card)) == ([1.0], {"value": 1.0})


def test_the_model_before_is_kept_for_its_readers_and_those_before_it_are_not(tmp_path: Path) -> None:
    save(tmp_path, "memory-gpu", {"value": np.array([9.0])}, {})
    for value in (1.0, 2.0, 3.0):
        saved(tmp_path, value)
    assert len(list(tmp_path.glob("memory-*.arrays"))) == 3  # of 2.0, of 3.0, and of the other model
    assert load(tmp_path, "memory").arrays["value"].tolist() == [3.0]
    assert load(tmp_path, "memory-gpu").arrays["value"].tolist() == [9.0]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_saving_over_a_damaged_model_mends_it(tmp_path: Path) -> None:
    saved(tmp_path).write_text("{")
    saved(tmp_path, 2.0)
    assert load(tmp_path, "memory").arrays["value"].tolist() == [2.0]


@pytest.mark.parametrize(
    "array",
    [
        np.array(["text"]),
        np.array([None]),
        np.array([1j]),
        np.array(["2026-05-01"], "datetime64[s]"),
        np.zeros(1, [("a", "f8")]),
        np.zeros(1, np.float16),
        np.zeros((1,) * 5),
    ],
    ids=lambda array: str(array.dtype),
)
def test_only_plain_numbers_can_be_saved(tmp_path: Path, array: Any) -> None:
    with pytest.raises(ValueError, match="cannot hold"):
        save(tmp_path, "memory", {"a": array}, {})


@pytest.mark.parametrize("name", ["", "../memory", "a/b", ".hidden", "a\n", "a" * 101])
def test_a_name_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="name a model"):
        save(tmp_path, name, {}, {})
    with pytest.raises(AuditError, match="not the name of a model"):
        load(tmp_path, name)


@pytest.mark.parametrize("card", [{"coverage": float("nan")}, {"long": "x" * 2**20}])
def test_a_card_that_could_not_be_read_back_is_not_written(tmp_path: Path, card: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        save(tmp_path, "memory", {}, card)


def test_what_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(AuditError, match="cannot be written"):
        save(tmp_path / "models", "memory", {}, {})
    with pytest.raises(AuditError, match="larger than 100 MiB"):
        save(tmp_path, "memory", {"a": np.zeros(101 * 2**20, np.int8)}, {})


def test_without_a_model_the_remedy_is_to_train(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match=r"memory\.card\.json: is missing; run `audit train`"):
        load(tmp_path, "memory")
    saved(tmp_path)
    arrays_file(tmp_path).unlink()
    with pytest.raises(AuditError, match=r"\.arrays: is missing; run `audit train`"):
        load(tmp_path, "memory")


CARDS = {
    "nothing": b"",
    "no JSON": b"\x80\x04.",
    "a list": b"[]",
    "nested without end": b"[" * 500_000,
    "nested objects without end": b'{"a":' * 100_000,
    "not a number": b'{"format": NaN}',
    "a number of a million digits": b'{"format": ' + b"1" * 1_000_000 + b"}",
    "a key twice": b'{"format": 1, "format": 1}',
    "no format": b"{}",
    "format true": b'{"format": true}',
    "another format": b'{"format": 1}',
    "nothing but a format": b'{"format": 2}',
    "a path for a hash": b'{"format": 2, "name": "memory", "sha256": "../../etc/passwd", "card_sha256": "", '
    b'"arrays": [], "card": {}}',
    "too large": b" " * (2**20 + 1),
}


@pytest.mark.parametrize("content", CARDS.values(), ids=CARDS.keys())
def test_a_card_that_is_none_is_one_line(tmp_path: Path, content: bytes) -> None:
    saved(tmp_path).write_bytes(content)
    with pytest.raises(AuditError, match=r"memory\.card\.json: .*; run `audit train` again") as found:
        load(tmp_path, "memory")
    assert "\n" not in str(found.value)


# Sixteen bytes that the hash fits, and a layout that does not fit them, or would be a trap.
LAYOUTS = {
    "more than there is": [["a", "<f8", [3]]],
    "less than there is": [["a", "<f8", [1]]],
    "nothing": [],
    "a name twice": [["a", "<f8", [1]], ["a", "<f8", [1]]],
    "objects": [["a", "|O", [2]]],
    "records": [["a", [["x", "<f8"]], [2]]],
    "text": [["a", "<U4", [1]]],
    "the other byte order": [["a", ">f8", [2]]],
    "a huge shape": [["a", "<f8", [10**30]]],
    "a product past 64 bits": [["a", "|i1", [2**33, 2**33]]],
    "nothing times vast": [["a", "<f8", [0, 2**26, 2**26, 2**26]], ["b", "<f8", [2]]],
    "less than nothing": [["a", "<f8", [-2]], ["b", "<f8", [4]]],
    "a side that is true": [["a", "<f8", [2, True]]],
    "a side that is a fraction": [["a", "<f8", [2.0]]],
    "many sides": [["a", "<f8", [2, *[1] * 400_000]]],
    "no shape": [["a", "<f8"]],
    "a shape that is a number": [["a", "<f8", 2]],
    "a number for an array": [2],
    "a name with a line feed": [["a\nb", "<f8", [2]]],
    "a number for a name": [[1, "<f8", [2]]],
    "many arrays": [[f"a{i}", "<f8", [0]] for i in range(5000)],
    "truth that is neither": [["a", "|b1", [16]]],
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_a_layout_that_cannot_be_is_refused_before_it_is_used(tmp_path: Path, layout: Any) -> None:
    forged(tmp_path, b"\2" * 16, arrays=layout)
    with pytest.raises(AuditError, match="run `audit train` again"):
        load(tmp_path, "memory")


def test_a_forger_can_write_numbers_and_nothing_else(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "ran",))

    content = pickle.dumps(Trap())
    content += b"\0" * (-len(content) % 8)
    forged(tmp_path, content, arrays=[["a", "|u1", [len(content)]]])
    assert load(tmp_path, "memory").arrays["a"].tobytes() == content
    assert not (tmp_path / "ran").exists()


def test_damage_anywhere_in_the_arrays_is_seen(tmp_path: Path) -> None:
    save(tmp_path, "memory", ARRAYS, CARD)
    path = arrays_file(tmp_path)
    whole = path.read_bytes()
    for place in range(len(whole)):
        for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :], whole + b"\0"):
            path.write_bytes(damaged)
            with pytest.raises(AuditError, match="its sha256 is not"):
                load(tmp_path, "memory")


def edited(card: Path, change: Callable[[dict[str, Any]], object]) -> None:
    head = json.loads(card.read_text())
    change(head)
    card.write_text(json.dumps(head))


EDITS: dict[str, Callable[[dict[str, Any]], object]] = {
    "what the card says": lambda head: head["card"].update(value=2.0),
    "a key more": lambda head: head["card"].update(more=None),
    "the array's type": lambda head: head.update(arrays=[["value", "<i8", [1]]]),
    "the array's name": lambda head: head.update(arrays=[["bound", "<f8", [1]]]),
    "the array's shape": lambda head: head.update(arrays=[["value", "<f8", [1, 1]]]),
    "the model's name": lambda head: head.update(name="walltime"),
}


@pytest.mark.parametrize("change", EDITS.values(), ids=EDITS.keys())
def test_an_edited_card_is_seen_and_named(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    card = saved(tmp_path)
    edited(card, change)
    with pytest.raises(AuditError, match=r"memory\.card\.json: .*; run `audit train` again"):
        load(tmp_path, "memory")


def test_a_model_under_another_name_is_refused(tmp_path: Path) -> None:
    card, arrays = saved(tmp_path), arrays_file(tmp_path)
    card.rename(tmp_path / "walltime.card.json")
    arrays.rename(tmp_path / arrays.name.replace("memory", "walltime"))
    with pytest.raises(AuditError, match=r"walltime\.card\.json: is the card of another model"):
        load(tmp_path, "walltime")


def test_a_file_larger_than_a_model_is_not_read(tmp_path: Path) -> None:
    saved(tmp_path)
    os.truncate(arrays_file(tmp_path), 200 * 2**20)  # sparse: takes no space
    with pytest.raises(AuditError, match="larger than 100 MiB"):
        load(tmp_path, "memory")


@pytest.mark.parametrize("which", ["card", "arrays"])
def test_links_pipes_and_folders_are_not_followed_nor_waited_for(tmp_path: Path, which: str) -> None:
    card = saved(tmp_path)
    path = card if which == "card" else arrays_file(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    with pytest.raises(AuditError, match="symbolic link"):
        load(tmp_path, "memory")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(AuditError, match="not a regular file"):
        load(tmp_path, "memory")
    path.unlink()
    path.mkdir()
    with pytest.raises(AuditError, match="run `audit train` again"):
        load(tmp_path, "memory")


def test_saving_replaces_a_link_rather_than_what_it_points_to(tmp_path: Path) -> None:
    card, elsewhere = saved(tmp_path), tmp_path / "elsewhere"
    elsewhere.write_text("kept")
    card.unlink()
    card.symlink_to(elsewhere)
    saved(tmp_path, 2.0)
    assert elsewhere.read_text() == "kept"
    assert load(tmp_path, "memory").arrays["value"].tolist() == [2.0]


ANY_TEXT = st.text(st.characters())  # lone surrogates, NUL and line feeds included


SCALARS = st.sampled_from([None, True, 0, 1, -1, 2**70, 0.5, float("nan"), "", "a", "<f8", "0" * 64, "\ud800"])
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(SCALARS.map(str), inner))


@given(st.dictionaries(st.sampled_from(["format", "name", "sha256", "card_sha256", "arrays", "card"]), JSON))
def test_whatever_a_card_says_the_answer_is_a_model_or_one_line(
    tmp_path_factory: pytest.TempPathFactory, head: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("models")
    forged(folder, b"\0" * 16, **{"arrays": [["a", "<f8", [2]]]} | head)
    try:
        assert load(folder, "memory").path.parent == folder
    except AuditError as error:
        assert "run `audit train`" in str(error)
