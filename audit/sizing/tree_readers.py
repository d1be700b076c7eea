"""Trees as LightGBM and scikit-learn grew them -> flat arrays that send every row, NaN included, to the same leaf.

Neither library is imported: a booster is read from its text, a forest from its trees' arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from audit.sizing.trees import LEAF, MOST_FEATURES, NEAR_ZERO, Floats, Numbers, TreeEnsemble

# LightGBM's objectives whose raw sum of leaves is the prediction.
_PLAIN: Final = frozenset(("regression", "regression_l1", "huber", "fair", "quantile", "mape", "custom"))

# The bits of LightGBM's decision_type.
_CATEGORICAL: Final = 1
_DEFAULT_LEFT: Final = 2
_MISSING: Final = 12
_MISSING_NONE: Final = 0
_MISSING_ZERO: Final = 4


@dataclass(frozen=True, eq=False)
class _Grown:
    """One tree: its nodes in any order, the root first. `value` counts at leaves; all else, at splits."""

    left: Numbers  # LEAF at leaves
    right: Numbers
    feature: Numbers
    threshold: Floats  # left where x <= threshold
    missing_left: NDArray[np.bool_]
    zeros_missing: NDArray[np.bool_]
    value: Floats


def from_lightgbm(booster: Any, *, base: float = 0.0) -> TreeEnsemble:
    """One group of the trees a `lightgbm.Booster` predicts with (up to its best iteration).

    `base` is what it was trained beside (an init score), which its own predictions leave out. ValueError: a booster
    with categorical splits, linear leaves, several outputs, or an objective that transforms the sum of leaves.
    """
    header, *blocks = booster.model_to_string().split("\n\nTree=")
    settings = dict(line.split("=", 1) for line in header.splitlines() if "=" in line)
    objective = settings.get("objective", "custom").split()
    if objective[0] not in _PLAIN or "sqrt" in objective or settings["num_tree_per_iteration"] != "1":
        raise ValueError(f"a booster for {' '.join(objective)} is not a sum of leaves")
    grown = [_lightgbm_tree(block) for block in blocks]
    averaged = "average_output" in header.splitlines()
    return _ensemble(grown, int(settings["max_feature_idx"]) + 1, base, len(grown) if averaged else 1)


def from_forest(forest: Any) -> TreeEnsemble:
    """One group of the trees of a fitted RandomForestRegressor or ExtraTreesRegressor with one output."""
    if forest.n_outputs_ != 1:
        raise ValueError("a forest with several outputs is not one group")
    grown = [_scikit_tree(tree.tree_) for tree in forest.estimators_]
    return _ensemble(grown, int(forest.n_features_in_), 0.0, len(grown))


def _lightgbm_tree(block: str) -> _Grown:
    """A `Tree=` block of the model's text: splits are numbered from 0, leaf i is child -1 - i."""
    fields = dict(line.split("=", 1) for line in block.split("\n\n", 1)[0].splitlines() if "=" in line)
    leaves = int(fields["num_leaves"])
    splits = leaves - 1
    kind = _numbers(fields, "decision_type", splits)
    if (kind & _CATEGORICAL).any() or fields.get("is_linear", "0") != "0":
        raise ValueError("categorical splits and linear leaves cannot be kept as thresholds")
    threshold = _before_zeroing(_numbers(fields, "threshold", splits, np.float64))
    missing = kind & _MISSING
    children = np.stack((_numbers(fields, "left_child", splits), _numbers(fields, "right_child", splits)))
    left, right = np.where(children < 0, splits - 1 - children, children)
    return _Grown(
        left=_then(left, leaves, LEAF),
        right=_then(right, leaves, LEAF),
        feature=_then(_numbers(fields, "split_feature", splits), leaves, LEAF),
        threshold=_then(threshold, leaves, 0.0),
        # Where nothing was missing in training, LightGBM takes NaN for 0.
        missing_left=_then(
            np.where(missing == _MISSING_NONE, threshold >= 0, kind & _DEFAULT_LEFT != 0), leaves, False
        ),
        zeros_missing=_then(missing == _MISSING_ZERO, leaves, False),
        value=np.concatenate((np.zeros(splits), _numbers(fields, "leaf_value", leaves, np.float64))),
    )


def _numbers(fields: dict[str, str], name: str, count: int, dtype: type = np.intp) -> NDArray[Any]:
    """The numbers of a line of the model's text; a tree without splits has no such lines."""
    return np.array(fields.get(name, "").split()[:count], dtype=dtype)


def _then(at_splits: NDArray[Any], leaves: int, at_leaves: float) -> NDArray[Any]:
    return np.concatenate((at_splits, np.full(leaves, at_leaves, at_splits.dtype)))


def _before_zeroing(threshold: Floats) -> Floats:
    """The largest x that is <= `threshold` once what is as near to 0 as NEAR_ZERO is 0, as LightGBM reads its rows."""
    near = np.where(threshold < 0, np.nextafter(-NEAR_ZERO, -np.inf), NEAR_ZERO)
    return np.where((threshold >= -NEAR_ZERO) & (threshold <= NEAR_ZERO), near, threshold)


def _scikit_tree(tree: Any) -> _Grown:
    return _Grown(
        left=tree.children_left,
        right=tree.children_right,
        feature=tree.feature,
        threshold=_before_rounding(tree.threshold),
        missing_left=tree.missing_go_to_left.astype(np.bool_),
        zeros_missing=np.zeros(tree.node_count, np.bool_),
        value=tree.value[:, 0, 0],
    )


def _before_rounding(threshold: Floats) -> Floats:
    """The largest double that is <= `threshold` once rounded to single precision, as scikit-learn rounds its rows."""
    low = threshold.astype(np.float32)
    low = np.where(low > threshold, np.nextafter(low, np.float32(-np.inf)), low)
    middle = (low.astype(np.float64) + np.nextafter(low, np.float32(np.inf))) / 2
    return np.where(middle.astype(np.float32) <= low, middle, np.nextafter(middle, -np.inf))


def _ensemble(grown: Sequence[_Grown], features: int, base: float, divisor: float) -> TreeEnsemble:
    """All trees laid out level by level, each split turned so that what is missing takes the first child."""
    if features > MOST_FEATURES:
        raise ValueError(f"trees look at {MOST_FEATURES} features at most")
    sizes = np.array([len(tree.left) for tree in grown])
    root = np.cumsum(sizes) - sizes
    to_all = np.repeat(root, sizes)
    left, right, feature, threshold, missing_left, zeros_missing, value = (
        np.concatenate([getattr(tree, name) for tree in grown]) for name in _Grown.__dataclass_fields__
    )
    inner = left != LEAF
    first, second = np.where(missing_left, (left, right), (right, left)) + to_all
    turned = ~missing_left * features + 2 * features * zeros_missing
    # x > t is x >= the number after t; x <= t is -x >= -t.
    bound = np.where(missing_left, np.nextafter(threshold, np.inf), -threshold)
    order = _level_by_level(root, first, second, inner)
    splits, leaves = order[inner[order]], order[~inner[order]]
    return TreeEnsemble(
        features=features,
        column=np.where(inner, feature + turned, LEAF)[order].astype(np.int16),
        bound=bound[splits],
        value=value[leaves].astype(np.float64),
        tree_nodes=sizes.astype(np.int32),
        group_trees=np.array([len(grown)], np.int32),
        base=np.array([base], np.float64),
        divisor=np.array([divisor], np.float64),
    )


def _level_by_level(root: Numbers, first: Numbers, second: Numbers, inner: NDArray[np.bool_]) -> Numbers:
    """The nodes tree by tree, in each level by level, siblings side by side."""
    nodes, tree = [root], [np.arange(len(root))]
    while len(nodes[-1]):
        split = inner[nodes[-1]]
        parents = nodes[-1][split]
        nodes.append(np.stack((first[parents], second[parents]), axis=1).ravel())
        tree.append(np.repeat(tree[-1][split], 2))
    return np.concatenate(nodes)[np.argsort(np.concatenate(tree), kind="stable")]
