"""A model of another version or cluster, or one whose facts or numbers cannot be, is refused in one line."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audit.errors import AuditError
from audit.sizing.model_file import load, save
from audit.sizing.model_set import TargetModel, check_cluster, earlier_model, load_model
from audit.sizing.train import Training, train
from tests.sizing.clusters import busy
from tests.sizing.trained import SETTING, cases


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Training]:
    folder = tmp_path_factory.mktemp("models")
    return folder, train(cases(memory=busy(500, seed=1)), SETTING, folder)


def model_of(trained: tuple[Path, Training]) -> TargetModel:
    return trained[1].models["memory"]


FACTS: dict[str, dict[str, Any]] = {
    "another version of audit": {"made_by": "0.0.0-0123456789ab"},
    "an expert that is none": {"expert": "oracle"},
    "a quantile beyond 1": {"quantile": 7},
    "a truth value that is text": {"lowers_cores": "yes"},
    "memory in steps of nothing": {"mem_step_bytes": 0},
    "before 1970": {"data_to_s": -1.0},
    "after 2199": {"made_s": 7_258_118_400.0},  # 2200-01-01
}


@pytest.mark.parametrize("change", FACTS.values(), ids=FACTS.keys())
def test_facts_that_cannot_be(trained: tuple[Path, Training], tmp_path: Path, change: dict[str, Any]) -> None:
    model = model_of(trained)
    save(tmp_path, "memory", model.served.arrays, {**model.card, "facts": asdict(model.facts) | change})
    with pytest.raises(AuditError, match="run `audit train` again") as found:
        load_model(tmp_path, "memory")
    assert "\n" not in str(found.value)
    assert found.value.where.startswith(str(tmp_path / "memory"))


def test_a_model_without_facts_is_no_model_of_ours(trained: tuple[Path, Training], tmp_path: Path) -> None:
    save(tmp_path, "memory", model_of(trained).served.arrays, {})
    with pytest.raises(AuditError, match="lacks what an estimate needs"):
        load_model(tmp_path, "memory")


def test_a_model_of_another_cluster_is_named(trained: tuple[Path, Training], tmp_path: Path) -> None:
    model = model_of(trained)
    check_cluster([model], "alpha", tmp_path)
    other = replace(model, facts=replace(model.facts, cluster="beta"))
    with pytest.raises(AuditError, match=r"memory\.card\.json: is of the cluster 'beta'"):
        check_cluster([model, other], "alpha", tmp_path)


def limits(array: np.ndarray[Any, Any]) -> Any:
    """The least and the most that fit its type."""
    return np.iinfo(array.dtype) if array.dtype.kind in "iu" else np.finfo(array.dtype)


ARRAYS: dict[str, Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]] = {
    "nothing but the most": lambda a: np.full_like(a, limits(a).max),
    "nothing but the least": lambda a: np.full_like(a, limits(a).min),
    "no rows": lambda a: a[:0] if a.ndim else a,
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("spoil", ARRAYS.values(), ids=ARRAYS.keys())
def test_whatever_numbers_are_in_an_array_it_is_a_model_or_one_line(
    trained: tuple[Path, Training], tmp_path: Path, spoil: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]
) -> None:
    found = load(trained[0], "memory")
    for name, array in found.arrays.items():
        if array.dtype != np.bool_:
            save(tmp_path, "memory", {**found.arrays, name: spoil(array)}, found.card)
            model, why_not = earlier_model(tmp_path, "memory")
            assert (model is None) == (why_not is not None), name


def test_an_earlier_model_that_cannot_be_read_counts_as_none_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "memory.card.json").write_text("{")
    found = train(cases(memory=busy(500, seed=1)), SETTING, tmp_path)
    assert found.unreadable == {"memory": "is no card of a model"}
    assert found.models["memory"].card["earlier"]["attempts"] == 0  # type: ignore[index]
    assert json.loads((tmp_path / "memory.card.json").read_text())["name"] == "memory"
