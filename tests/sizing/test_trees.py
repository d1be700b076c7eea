"""Trees in flat arrays say what the libraries that grew them say, and cannot be led astray by a file."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from audit.errors import AuditError
from audit.sizing.model_file import load, save
from audit.sizing.tree_readers import from_forest, from_lightgbm
from audit.sizing.trees import MOST_LEVELS, Leaves, TreeEnsemble, stack

INF, NAN = np.inf, np.nan


def rows(count: int, seed: int) -> NDArray[np.float64]:
    """Six features: gaps, exact zeros of both signs, few values, and one that is only there or not."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 6))
    x[:, 1] = rng.choice([0.0, -0.0, 1.0, -1.0, 2.5], count)
    x[:, 2] = rng.integers(0, 4, count)
    x[:, 3] = np.exp(8 * x[:, 3])
    x[:, 4] = 1.0
    x[rng.random(x.shape) < 0.2] = NAN
    x[:, 5] = rng.normal(size=count)  # nothing missing in training
    return x


def needs(x: NDArray[np.float64], seed: int = 0) -> NDArray[np.float64]:
    known = np.nan_to_num(x, nan=-2.0)
    return 2 * known[:, 0] + known[:, 1] * known[:, 2] + known[:, 4] + np.random.default_rng(seed).gamma(1, size=len(x))


X, ASKED = rows(2000, 1), rows(3000, 2)
ASKED[::7, 5] = NAN  # missing where nothing was in training
Y = needs(X)


def booster(
    x: NDArray[Any] = X, y: NDArray[Any] = Y, trees: int = 20, categories: Any = "auto", **settings: Any
) -> lightgbm.Booster:
    quiet = {"objective": "quantile", "alpha": 0.9, "verbose": -1, "num_threads": 1, "seed": 3, "min_data_in_leaf": 5}
    return lightgbm.train(quiet | settings, lightgbm.Dataset(x, y, categorical_feature=categories), trees)


def tree(column: Sequence[int], bound: Sequence[float], value: Sequence[float], **other: Any) -> TreeEnsemble:
    """One tree over two features."""
    arrays = {
        "column": np.array(column, np.int16),
        "bound": np.array(bound, np.float64),
        "value": np.array(value, np.float64),
        "tree_nodes": np.array([len(column)], np.int32),
        "group_trees": np.array([1], np.int32),
        "base": np.array([0.0]),
        "divisor": np.array([1.0]),
    }
    return TreeEnsemble(**{"features": 2} | arrays | other)


# Root: feature 0 at least 3 goes to node 2, all else (missing too) to leaf 0. Node 2: -feature 1 at least -5, which is
# feature 1 at most 5, goes to leaf 2; all else (missing too) to leaf 1.
BY_HAND = tree([0, -1, 3, -1, -1], [3, -5], [10, 20, 30])
ENDS = [([2, 0], 0), ([NAN, 0], 0), ([3, 5], 2), ([3, 5.1], 1), ([INF, NAN], 1), ([INF, -INF], 2), ([-INF, 9], 0)]


@pytest.mark.parametrize(("row", "leaf"), ENDS)
def test_a_tree_by_hand(row: list[float], leaf: int) -> None:
    x = np.array([row])
    assert BY_HAND.apply(x).tolist() == [[leaf]]
    assert BY_HAND.predict(x).tolist() == [[[10.0, 20.0, 30.0][leaf]]]


def test_groups_are_summed_or_averaged_apart() -> None:
    sums = tree([-1, -1], [], [1, 2], tree_nodes=np.array([1, 1], np.int32), group_trees=np.array([2], np.int32))
    mean = tree(
        [-1, 1, -1, -1],
        [0],
        [4, 5, 8],
        tree_nodes=np.array([1, 3], np.int32),
        group_trees=np.array([2], np.int32),
        base=np.array([100.0]),
        divisor=np.array([2.0]),
    )
    both = stack([sums, mean])
    # 1 + 2; 100 + (4 + 8) / 2 where feature 1 is at least 0, 100 + (4 + 5) / 2 where it is less or missing.
    assert both.predict(np.array([[0.0, 0.0], [0.0, -1.0], [0.0, NAN]])).tolist() == [[3, 106], [3, 104.5], [3, 104.5]]
    assert both.apply(np.array([[0.0, 0.0]])).tolist() == [[0, 1, 2, 4]]
    assert (both.trees, both.leaves, both.groups) == (4, 5, 2)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"objective": "regression", "num_leaves": 63},
        {"objective": "regression_l1", "max_depth": 3},
        {"use_missing": False},
        {"zero_as_missing": True},
        {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6},
        {"boosting": "dart"},
        {"num_leaves": 2},
        {"min_data_in_leaf": 100_000},
        {"extra_trees": True, "linear_tree": False, "max_bin": 15},
    ],
    ids=str,
)
def test_what_lightgbm_says(settings: dict[str, Any]) -> None:
    grown = booster(**settings)
    ours = from_lightgbm(grown)
    for asked in (ASKED, X, np.full((1, 6), NAN), np.zeros((1, 6)), -np.zeros((1, 6))):
        np.testing.assert_allclose(ours.predict(asked)[:, 0], grown.predict(asked), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("settings", [{}, {"use_missing": False}, {"zero_as_missing": True}], ids=str)
def test_extreme_values_go_where_lightgbm_sends_them(settings: dict[str, Any]) -> None:
    grown = booster(**settings)
    bounds = [
        float(number) for line in re.findall("threshold=(.*)", grown.model_to_string()) for number in line.split()
    ]
    values = np.array([INF, -INF, 1e300, -1e300, 5e-324, 1e-36, -1e-36, 1.1e-35, *bounds])
    around = np.concatenate((values, np.nextafter(values, INF), np.nextafter(values, -INF)))
    asked = np.repeat(around[:, np.newaxis], 6, axis=1)
    np.testing.assert_allclose(from_lightgbm(grown).predict(asked)[:, 0], grown.predict(asked), rtol=1e-12, atol=1e-12)


def test_the_leaves_are_lightgbms_leaves() -> None:
    grown = booster()
    ours, theirs = from_lightgbm(grown).apply(ASKED), np.asarray(grown.predict(ASKED, pred_leaf=True))
    for one, other in zip(ours.T, theirs.T, strict=True):
        pairs = set(zip(one.tolist(), other.tolist(), strict=True))
        assert len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs})


def test_training_that_stopped_early_counts_to_the_best_iteration() -> None:
    held_out = lightgbm.Dataset(ASKED, needs(ASKED, 5))
    grown = lightgbm.train(
        {"objective": "quantile", "alpha": 0.5, "verbose": -1, "num_threads": 1, "learning_rate": 0.9},
        lightgbm.Dataset(X, Y),
        60,
        valid_sets=[held_out],
        callbacks=[lightgbm.early_stopping(3, verbose=False)],
        keep_training_booster=True,
    )
    ours = from_lightgbm(grown)
    assert ours.trees == grown.best_iteration < grown.num_trees()
    np.testing.assert_allclose(ours.predict(ASKED)[:, 0], grown.predict(ASKED), rtol=1e-12, atol=1e-12)


def test_what_it_was_trained_beside_is_added() -> None:
    grown = booster()
    np.testing.assert_allclose(
        from_lightgbm(grown, base=5.0).predict(ASKED)[:, 0], 5.0 + np.asarray(grown.predict(ASKED)), rtol=1e-12
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"objective": "poisson"},
        {"objective": "regression", "reg_sqrt": True},
        {"objective": "regression", "linear_tree": True},
        {"categories": [2], "min_data_per_group": 1},
    ],
    ids=str,
)
def test_boosters_that_are_no_sums_of_leaves_are_refused(settings: dict[str, Any]) -> None:
    x = np.abs(np.nan_to_num(X))
    with pytest.raises(ValueError, match=r"sum of leaves|kept as thresholds"):
        from_lightgbm(booster(x, x[:, 2] % 3 + x[:, 0], **settings))


FORESTS = {
    "random": RandomForestRegressor(12, min_samples_leaf=3, random_state=0),
    "whole trees": RandomForestRegressor(5, random_state=1, max_samples=0.5),
    "extra": ExtraTreesRegressor(12, min_samples_leaf=3, random_state=0),
    "one leaf": RandomForestRegressor(3, min_samples_leaf=3000, random_state=0),
}


@pytest.mark.parametrize("forest", FORESTS.values(), ids=FORESTS.keys())
def test_what_scikit_learn_says(forest: Any) -> None:
    x, asked = (np.clip(part, -1e30, 1e30) for part in (X, ASKED))
    forest.fit(x, Y)
    np.testing.assert_allclose(from_forest(forest).predict(asked)[:, 0], forest.predict(asked), rtol=1e-12, atol=1e-12)


def test_single_precision_decides_as_in_scikit_learn() -> None:
    """Rows that lie between two single-precision numbers, on either side of every threshold."""
    rng = np.random.default_rng(4)
    x = 1 + rng.integers(0, 40, (400, 1)) * 2.0**-23  # neighbours in single precision
    forest = ExtraTreesRegressor(20, random_state=0).fit(x, rng.normal(size=400))
    asked = 1 + np.arange(-8, 41 * 8)[:, np.newaxis] * 2.0**-26
    asked = np.concatenate((asked, np.nextafter(asked, 0), np.nextafter(asked, 2)))
    np.testing.assert_allclose(from_forest(forest).predict(asked)[:, 0], forest.predict(asked), rtol=1e-12)


def test_a_forest_with_two_outputs_is_refused() -> None:
    with pytest.raises(ValueError, match="several outputs"):
        from_forest(RandomForestRegressor(2, max_depth=2).fit(X, np.stack((Y, Y), axis=1)))


def test_ensembles_in_one_pass_say_what_each_says_and_a_row_alone_what_it_says_among_others() -> None:
    parts = [from_lightgbm(booster(alpha=level, trees=trees)) for level, trees in ((0.5, 30), (0.9, 10), (0.99, 20))]
    parts.append(from_forest(RandomForestRegressor(7, random_state=0).fit(np.clip(X, -1e30, 1e30), Y)))
    together = stack(parts)
    found = together.predict(ASKED)
    assert found.tolist() == np.concatenate([part.predict(ASKED) for part in parts], axis=1).tolist()
    assert found[:50].tolist() == [together.predict(ASKED[row : row + 1])[0].tolist() for row in range(50)]
    assert together.predict(ASKED[:0]).shape == (0, 4)


def test_rows_of_another_width_are_refused() -> None:
    for x in (np.zeros((1, 3)), np.zeros(2)):
        with pytest.raises(ValueError, match="2 features are expected"):
            BY_HAND.predict(x)


def test_trees_come_back_from_a_model_file(tmp_path: Path) -> None:
    trees = from_lightgbm(booster())
    save(tmp_path, "memory", trees.to_arrays("p90/"), {})
    model = load(tmp_path, "memory")
    found = TreeEnsemble.from_arrays(model.arrays, "p90/", where=str(model.path))
    assert found.predict(ASKED).tolist() == trees.predict(ASKED).tolist()
    with pytest.raises(AuditError, match=r"memory-.*lacks p50/features"):
        TreeEnsemble.from_arrays(model.arrays, "p50/", where=str(model.path))


def chain(levels: int) -> dict[str, NDArray[Any]]:
    """A tree that is only a spine: each level's first node splits."""
    column = [0, *[0, -1] * (levels - 1), -1, -1]
    return tree(column, [0.0] * levels, [0.0] * (levels + 1)).to_arrays()


HOSTILE = {
    "no number of features": {"features": np.array([])},
    "a fraction of a feature": {"features": np.array([2.5])},
    "no features": {"features": np.array([0])},
    "more features than columns": {"features": np.array([10_000])},
    "a scalar": {"features": np.array(2)},
    "a feature that is not there": {"column": np.array([8, -1, 3, -1, -1], np.int16)},
    "a column before the first": {"column": np.array([-2, -1, 3, -1, -1], np.int16)},
    "another type": {"column": np.array([0, -1, 3, -1, -1], np.int64)},
    "a table for a list": {"bound": np.array([[3.0, -5.0]])},
    "a bound too few": {"bound": np.array([3.0])},
    "a bound that is no number": {"bound": np.array([3.0, NAN])},
    "a leaf too many": {"value": np.array([1.0, 2.0, 3.0, 4.0])},
    "a leaf without a number": {"value": np.array([1.0, 2.0, NAN])},
    "a leaf without end": {"value": np.array([1.0, 2.0, INF])},
    "a split as the last node": {"column": np.array([0, -1, -1, -1, 3], np.int16)},
    "a root that is a leaf": {"column": np.array([-1, 0, 3, -1, -1], np.int16)},
    "more splits than leaves": {"column": np.array([0, 0, 0, 0, 0], np.int16)},
    "nodes of no tree": {"tree_nodes": np.array([3], np.int32)},
    "trees past the nodes": {"tree_nodes": np.array([5, 5], np.int32)},
    "a tree of two": {"tree_nodes": np.array([2, 3], np.int32)},
    "a tree of less than nothing": {"tree_nodes": np.array([-1, 6], np.int32)},
    "sizes past 32 bits": {"tree_nodes": np.full(5, 2**31 - 1, np.int32)},
    "no trees": {"tree_nodes": np.array([], np.int32)},
    "trees of no group": {"group_trees": np.array([2], np.int32)},
    "an empty group": {"group_trees": np.array([0, 1], np.int32)},
    "a group without base": {"base": np.array([])},
    "a divisor of nothing": {"divisor": np.array([0.0])},
    "a divisor that is no number": {"divisor": np.array([NAN])},
}


@pytest.mark.parametrize("wrong", HOSTILE.values(), ids=HOSTILE.keys())
def test_arrays_that_are_no_trees_are_one_line(wrong: dict[str, NDArray[Any]]) -> None:
    with pytest.raises(AuditError, match=r"the model: its trees cannot be: .*; run `audit train` again"):
        TreeEnsemble.from_arrays(BY_HAND.to_arrays() | wrong)


def test_a_tree_without_end_is_refused() -> None:
    assert TreeEnsemble.from_arrays(chain(MOST_LEVELS)).apply(np.full((1, 2), -1.0)).tolist() == [[MOST_LEVELS - 1]]
    with pytest.raises(ValueError, match="levels"):
        chain(MOST_LEVELS + 1)


def test_whatever_the_arrays_hold_every_row_ends_in_a_leaf_of_each_tree_or_the_file_is_refused() -> None:
    """Any arrangement of splits and leaves: either refused, or walked to leaves of their own tree."""
    rng = np.random.default_rng(0)
    walked = 0
    for _ in range(400):
        sizes = rng.choice([1, 3, 5, 7], rng.integers(1, 4))
        column = rng.choice([-1, -1, 0, 3, 7], sizes.sum())
        splits = int((column >= 0).sum())
        wild = {"tree_nodes": sizes.astype(np.int32), "group_trees": np.array([len(sizes)], np.int32)}
        try:
            trees = tree(column, rng.normal(size=splits), rng.normal(size=len(column) - splits), **wild)
        except ValueError:
            continue
        walked += 1
        ends = np.cumsum((sizes + 1) // 2)
        found = trees.apply(rng.normal(size=(20, 2)))
        assert ((found < ends) & (found >= ends - (sizes + 1) // 2)).all()
    assert walked > 20


def test_a_quantile_forest_by_hand() -> None:
    """Feature 0 below 0 or not; each side keeps all it has seen, so quantiles are those of the side."""
    trees = tree([0, -1, -1], [0], [0, 0])
    x = np.array([[-1.0, 0], [-1, 0], [1, 0], [1, 0], [1, 0], [1, 0]])
    y = np.array([5.0, 1, 40, 10, 30, 20])
    kept = Leaves.kept(trees, x, y, most=4)
    # Two targets fill four places evenly: 1 1 5 5, whose median lies half-way; 10 20 30 40 are kept whole.
    assert kept.targets.tolist() == [[1, 1, 5, 5], [10, 20, 30, 40]]
    # 0.9 x 3 places = 2.7: between the third and the fourth, 0.7 of the way.
    assert kept.quantiles(np.array([[-3.0, 0], [3, 0]]), [0.5, 0.9, 1]).tolist() == [[3, 5, 5], [25, 37, 40]]


def test_quantiles_are_those_of_the_leaves_pooled() -> None:
    x = np.clip(X, -1e30, 1e30)
    trees = from_forest(RandomForestRegressor(9, min_samples_leaf=20, random_state=0).fit(x, Y))
    kept = Leaves.kept(trees, x, Y, most=5, seed=1)
    levels = [0.0, 0.5, 0.9, 0.99, 1.0]
    leaf = trees.apply(ASKED)
    expected = np.quantile(kept.targets[leaf].reshape(len(ASKED), -1), levels, axis=1).T
    found = kept.quantiles(ASKED, levels)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found[:20].tolist() == [kept.quantiles(ASKED[row : row + 1], levels)[0].tolist() for row in range(20)]


def test_what_a_leaf_keeps_has_been_seen_there_once_for_each_part_by_rank() -> None:
    trees = from_forest(RandomForestRegressor(4, min_samples_leaf=30, random_state=0).fit(X[:, :3], Y))
    kept = Leaves.kept(trees, X[:, :3], Y, most=6, seed=2)
    seen = trees.apply(X[:, :3])
    for leaf, targets in enumerate(kept.targets):
        all_there = np.sort(np.concatenate([Y[column == leaf] for column in seen.T]))
        rank = np.searchsorted(all_there, targets)
        assert (all_there[rank] == targets).all()
        # The i-th of six comes from the i-th sixth of the ranks, give or take the target that two sixths share.
        edges = np.arange(7) * len(all_there) / 6
        assert (rank >= np.floor(edges[:-1])).all() and (rank <= edges[1:]).all()


def test_the_same_seed_keeps_the_same() -> None:
    trees = from_forest(RandomForestRegressor(4, min_samples_leaf=30, random_state=0).fit(X[:, :3], Y))
    first, again, other = (Leaves.kept(trees, X[:, :3], Y, seed=seed).targets for seed in (1, 1, 2))
    assert first.tolist() == again.tolist() != other.tolist()


def test_a_leaf_that_no_row_reaches_is_refused() -> None:
    with pytest.raises(ValueError, match="no row"):
        Leaves.kept(tree([0, -1, -1], [0], [0, 0]), np.array([[1.0, 0]]), np.array([1.0]))


def test_a_quantile_forest_comes_back_from_a_model_file(tmp_path: Path) -> None:
    trees = from_forest(RandomForestRegressor(3, min_samples_leaf=30, random_state=0).fit(X[:, :3], Y))
    kept = Leaves.kept(trees, X[:, :3], Y.astype(np.float32))
    save(tmp_path, "memory", kept.to_arrays("qrf/"), {})
    found = Leaves.from_arrays(load(tmp_path, "memory").arrays, "qrf/")
    assert found.targets.dtype == np.float32
    assert found.quantiles(ASKED[:, :3], [0.9]).tolist() == kept.quantiles(ASKED[:, :3], [0.9]).tolist()


@pytest.mark.parametrize(
    "targets",
    [np.zeros((2, 4)), np.zeros((3, 0)), np.zeros(3), np.zeros((3, 1), np.int64), np.full((3, 2), NAN)],
    ids=lambda targets: f"{targets.dtype}{targets.shape}",
)
def test_targets_that_are_not_those_of_the_leaves_are_one_line(targets: NDArray[Any]) -> None:
    with pytest.raises(AuditError, match="run `audit train` again"):
        Leaves.from_arrays(BY_HAND.to_arrays() | {"targets": targets})
    with pytest.raises(AuditError, match="run `audit train` again"):
        Leaves.from_arrays(BY_HAND.to_arrays())
