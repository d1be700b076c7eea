"""Ensembles of regression trees as flat arrays: predicted with numpy alone, whichever library grew them.

The nodes of a tree lie level by level, root first, and two siblings side by side: so which node is a leaf already says
where all children are, no pointer is kept, and no file can make a walk leave its tree or go round in it.

A split sends a row to its second child where `column >= bound`, else to its first. The columns are the features x, then
-x, then x and -x with zeros missing: a split that sends what is missing (NaN) to the right is stated on -x with its
children exchanged. NaN reaches no bound, so it takes the first child everywhere, without being asked for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from audit.sizing.model_file import Arrays, damaged

MOST_LEVELS: Final = 1024
MOST_FEATURES: Final = 8191  # four columns each, in 16 bits
LEAF: Final = -1
NEAR_ZERO: Final = float(np.float32(1e-35))  # LightGBM's: what is as near to 0 is 0

_CHUNK: Final = 1 << 16  # rows x trees walked at once: what fits in the processor's cache

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """Trees in groups; a row's prediction by a group = its base + the sum of its trees' leaves / its divisor.

    Made by `audit.sizing.tree_readers`, `stack` or `from_arrays`. ValueError: arrays that are no such trees.
    """

    features: int
    column: NDArray[np.int16]  # by node: what its split looks at; LEAF at a leaf
    bound: Floats  # by split
    value: Floats  # by leaf
    tree_nodes: NDArray[np.int32]  # by tree
    group_trees: NDArray[np.int32]  # by group
    base: Floats  # by group
    divisor: Floats  # by group: 1 where trees are summed, their number where they are averaged

    def __post_init__(self) -> None:
        _check_types(self)
        _check_shapes(self)
        _ = self._walk

    @property
    def trees(self) -> int:
        """How many trees, of all groups."""
        return len(self.tree_nodes)

    @property
    def leaves(self) -> int:
        """How many leaves, of all trees; `apply` numbers them from 0 in the order of trees."""
        return len(self.value)

    @property
    def groups(self) -> int:
        """How many predictions a row gets."""
        return len(self.group_trees)

    def apply(self, x: NDArray[Any]) -> NDArray[np.int32]:
        """The leaf that each row (features; NaN: missing) ends in, by tree: (rows, trees)."""
        found = np.empty((len(x), self.trees), np.int32)
        for rows, leaf in self.walk(x):
            found[rows] = leaf.T
        return found

    def predict(self, x: NDArray[Any]) -> Floats:
        """What each group says of each row (features; NaN: missing): (rows, groups), in the unit trained on."""
        found = np.empty((len(x), self.groups))
        first = np.cumsum(self.group_trees, dtype=np.intp) - self.group_trees
        for rows, leaf in self.walk(x):
            found[rows] = np.add.reduceat(self.value.take(leaf), first, axis=0).T
        return self.base + found / self.divisor

    def to_arrays(self, prefix: str = "") -> dict[str, NDArray[Any]]:
        """The arrays for a model file, each name after `prefix`."""
        return {prefix + "features": np.array([self.features])} | {
            prefix + name: getattr(self, name) for name in _TYPES
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, prefix: str = "", *, where: str = "the model") -> "TreeEnsemble":
        """Reads what `to_arrays` made; AuditError where the arrays are no trees."""
        try:
            (features,) = arrays[prefix + "features"].tolist()
            return cls(features, **{name: arrays[prefix + name] for name in _TYPES})
        except KeyError as error:
            raise damaged(where, f"lacks {error.args[0]}") from None
        except (TypeError, ValueError) as error:
            raise damaged(where, f"its trees cannot be: {error}") from None

    def walk(self, x: NDArray[Any]) -> Iterator[tuple[slice, Numbers]]:
        """Some rows at a time, and the leaves that they end in: (trees, rows), as many as fit in the cache."""
        if x.ndim != 2 or x.shape[1] != self.features:
            raise ValueError(f"{self.features} features are expected, not {x.shape}")
        step = max(1, _CHUNK // self.trees)
        for start in range(0, len(x), step):
            rows = slice(start, start + step)
            yield rows, self._walk.leaves(_columns(np.asarray(x[rows], np.float64), self._walk.zeros_missing))

    @cached_property
    def _walk(self) -> "_Walk":
        return _Walk.of(self)


_TYPES: Final[dict[str, Any]] = {
    "column": np.int16,
    "bound": np.float64,
    "value": np.float64,
    "tree_nodes": np.int32,
    "group_trees": np.int32,
    "base": np.float64,
    "divisor": np.float64,
}


def stack(parts: Sequence[TreeEnsemble]) -> TreeEnsemble:
    """Several ensembles over the same features as one that walks all their trees in one pass; groups in order."""
    (features,) = {part.features for part in parts}
    return TreeEnsemble(features, **{name: np.concatenate([getattr(part, name) for part in parts]) for name in _TYPES})


@dataclass(frozen=True, eq=False)
class Leaves:
    """A quantile forest: what attempts in a row's leaves needed, over all trees, is how its need is distributed.

    Every tree weighs the same, and so does every attempt in a leaf (Meinshausen, Quantile Regression Forests, 2006).
    """

    trees: TreeEnsemble
    targets: NDArray[np.floating[Any]]  # (leaves, how many each keeps)

    def __post_init__(self) -> None:
        targets = self.targets
        if targets.dtype not in (np.float32, np.float64) or targets.ndim != 2 or len(targets) != self.trees.leaves:
            raise ValueError("targets are not some numbers a leaf")
        if not targets.shape[1] or not np.isfinite(targets).all():
            raise ValueError("a leaf has no targets, or some that are not finite")

    @classmethod
    def kept(
        cls, trees: TreeEnsemble, x: NDArray[Any], y: NDArray[np.floating[Any]], most: int = 8, seed: int = 0
    ) -> "Leaves":
        """Keeps `most` of the targets y (float32 or float64, as they are kept) in each leaf that the rows x end in.

        A leaf's targets are cut by rank into `most` equal parts and one is drawn from each: so tails are kept as often
        as they occur, and few targets are repeated evenly. The same seed draws the same. ValueError: a leaf that none
        of the rows reaches (give all that the trees were grown on), a target that is not finite.
        """
        rank = np.argsort(y, kind="stable")
        leaf = trees.apply(x[rank]).T
        by_leaf = y[rank][np.argsort(leaf, axis=1, kind="stable")].ravel()
        counts = np.bincount(leaf.ravel(), minlength=trees.leaves)
        if not counts.all():
            raise ValueError("a leaf has no row")
        part = (np.arange(most) + np.random.default_rng(seed).random((trees.leaves, most))) / most
        drawn = np.minimum(part * counts[:, np.newaxis], counts[:, np.newaxis] - 1).astype(np.intp)
        return cls(trees, by_leaf[(np.cumsum(counts) - counts)[:, np.newaxis] + drawn])

    def quantiles(self, x: NDArray[Any], levels: Sequence[float]) -> Floats:
        """The quantiles of each row's need at `levels` (0 to 1), between two targets in proportion: (rows, levels)."""
        place = np.asarray(levels, np.float64) * (self.trees.trees * self.targets.shape[1] - 1)
        below, above = np.floor(place).astype(np.intp), np.ceil(place).astype(np.intp)
        found = np.empty((len(x), len(levels)))
        for rows, leaf in self.trees.walk(x):
            pooled = self.targets.take(leaf.T, axis=0).reshape(leaf.shape[1], -1)
            pooled.sort(axis=1)
            low = pooled.take(below, axis=1).astype(np.float64)
            found[rows] = low + (pooled.take(above, axis=1) - low) * (place - below)
        return found

    def to_arrays(self, prefix: str = "") -> dict[str, NDArray[Any]]:
        """The arrays for a model file, each name after `prefix`."""
        return {**self.trees.to_arrays(prefix), f"{prefix}targets": self.targets}

    @classmethod
    def from_arrays(cls, arrays: Arrays, prefix: str = "", *, where: str = "the model") -> "Leaves":
        """Reads what `to_arrays` made; AuditError where the arrays are no such forest."""
        trees = TreeEnsemble.from_arrays(arrays, prefix, where=where)
        try:
            return cls(trees, arrays[f"{prefix}targets"])
        except (KeyError, ValueError):
            raise damaged(where, "its trees lack the targets of their leaves") from None


@dataclass(frozen=True, eq=False)
class _Walk:
    """What a walk reads: nodes by number, leaves as splits that lead back to themselves; deep trees first.

    At each level only the trees that go that deep are moved on: they stand in front.
    """

    root: Numbers  # by tree, the deepest first
    place: Numbers  # by tree in its own order: where it stands in `root`
    moving: tuple[int, ...]  # by level: how many trees go deeper
    child: Numbers  # by node, as all below
    column: Numbers
    bound: Floats
    leaf: Numbers
    zeros_missing: bool

    @classmethod
    def of(cls, trees: TreeEnsemble) -> "_Walk":
        inner = trees.column != LEAF
        nodes = np.arange(len(inner))
        tree_nodes = trees.tree_nodes.astype(np.intp)
        root = np.cumsum(tree_nodes) - tree_nodes
        before = np.concatenate(([0], np.cumsum(inner, dtype=np.intp)))  # splits before each node
        first = np.repeat(root, tree_nodes)
        child = np.where(inner, first + 1 + 2 * (before[:-1] - before[first]), nodes)
        if (child[inner] <= nodes[inner]).any():
            raise ValueError("a child stands before its parent")
        levels = _levels(root, tree_nodes, before)
        order = np.argsort(-levels, kind="stable")
        bound = np.full(len(inner), np.nan)  # which nothing reaches
        bound[inner] = trees.bound
        return cls(
            root=root[order],
            place=np.argsort(order),
            moving=tuple(np.cumsum(np.bincount(levels)[::-1])[::-1][1:].tolist()),
            child=child,
            column=np.where(inner, trees.column, 0).astype(np.intp),
            bound=bound,
            leaf=nodes - before[:-1],
            zeros_missing=bool((trees.column >= 2 * trees.features).any()),
        )

    def leaves(self, columns: Floats) -> Numbers:
        """(trees, rows)."""
        rows, width = columns.shape
        flat, row = columns.ravel(), np.arange(rows) * width
        node = np.repeat(self.root[:, np.newaxis], rows, axis=1)
        for count in self.moving:
            at = node[:count]
            node[:count] = self.child.take(at) + (flat.take(self.column.take(at) + row) >= self.bound.take(at))
        return self.leaf.take(node.take(self.place, axis=0))


def _columns(x: Floats, zeros_missing: bool) -> Floats:
    """What splits look at: see the top of this file."""
    if not zeros_missing:
        return np.concatenate((x, -x), axis=1)
    zeroless = np.where(np.abs(x) <= NEAR_ZERO, np.nan, x)
    return np.concatenate((x, -x, zeroless, -zeroless), axis=1)


def _levels(root: Numbers, tree_nodes: Numbers, before: Numbers) -> Numbers:
    """How many splits lie between each tree's root and its deepest leaf. ValueError: more than MOST_LEVELS."""
    levels = np.zeros(len(root), np.intp)
    going, end = np.arange(len(root)), np.ones(len(root), np.intp)
    for level in range(MOST_LEVELS + 1):
        levels[going] = level
        below = 1 + 2 * (before[root[going] + end] - before[root[going]])  # where the level's children end
        further = below > end
        going, end = going[further], below[further]
        if not len(going):
            return levels
    raise ValueError(f"a tree has more than {MOST_LEVELS} levels")


def _check_types(trees: TreeEnsemble) -> None:
    if type(trees.features) is not int or not 1 <= trees.features <= MOST_FEATURES:
        raise ValueError(f"the number of features is not within 1 and {MOST_FEATURES}")
    for name, dtype in _TYPES.items():
        array = getattr(trees, name)
        if array.dtype != dtype or array.ndim != 1:
            raise ValueError(f"{name} is not a list of {dtype.__name__}")
        if array.dtype == np.float64 and not (~np.isnan(array) if name == "bound" else np.isfinite(array)).all():
            raise ValueError(f"{name} holds what is no number")


def _check_shapes(trees: TreeEnsemble) -> None:
    """That the arrays are as long as they say of each other."""
    inner = trees.column != LEAF
    _check_parts("trees", trees.tree_nodes, len(inner))
    _check_parts("groups", trees.group_trees, trees.trees)
    splits = np.add.reduceat(inner, np.cumsum(trees.tree_nodes) - trees.tree_nodes, dtype=np.int64)
    if (trees.tree_nodes != 2 * splits + 1).any():
        raise ValueError("a tree has not one leaf more than splits")
    if len(trees.bound) != splits.sum() or len(trees.value) != len(inner) - splits.sum():
        raise ValueError("a split has no bound, or a leaf no value")
    if not len(trees.base) == len(trees.divisor) == trees.groups or (trees.divisor <= 0).any():
        raise ValueError("a group has no base, or a divisor that is not positive")
    if (trees.column < LEAF).any() or (trees.column >= 4 * trees.features).any():
        raise ValueError("a split looks at a feature that is not there")


def _check_parts(what: str, sizes: NDArray[np.int32], total: int) -> None:
    if not len(sizes) or (sizes < 1).any() or sizes.sum(dtype=np.int64) != total:
        raise ValueError(f"the sizes of {what} do not add up")
