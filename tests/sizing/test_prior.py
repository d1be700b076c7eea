"""What other clusters teach is small, holds nobody, says where it is from, and never foresees more than is asked for."""

import numpy as np
import pytest

from audit.sizing.attempts import LEVELS, TARGETS
from audit.sizing.prior_model import FOLDER, load_prior

GIB = 2.0**30


@pytest.mark.parametrize("target", ["memory", "walltime"])
def test_the_models_that_are_shipped(target: str) -> None:
    prior = load_prior(target)
    assert prior is not None
    assert prior.card["logs"]
    assert sum(path.stat().st_size for path in FOLDER.glob(f"{target}*")) <= 300_000
    arrays = {name.rpartition(".")[2] for name in prior.forest.to_arrays("forest.")}
    assert arrays == {"features", "column", "bound", "value", "tree_nodes", "group_trees", "base", "divisor", "targets"}


@pytest.mark.parametrize(("target", "column"), [("memory", 1), ("walltime", 3)])
@pytest.mark.parametrize("asked", [1.0, 3600.0, 64 * GIB])
def test_levels_are_in_order_and_within_the_request(target: str, column: int, asked: float) -> None:
    prior = load_prior(target)
    assert prior is not None
    request = np.array([[16.0, np.nan, 0.0, np.nan]])
    request[0, column] = asked
    needs = prior.needs(TARGETS[target], asked, request)
    assert len(needs) == len(LEVELS)
    assert (np.diff(needs) >= 0).all()
    assert 0 < needs[0] <= needs[-1] <= max(asked, TARGETS[target].floor) * (1 + 1e-6)


def test_other_targets_have_none() -> None:
    assert [load_prior(target) for target in ("cores", "gpus", "vram", "gpu_activity", "../memory")] == [None] * 5
