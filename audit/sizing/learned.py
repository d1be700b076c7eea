"""The learned experts: a quantile forest, and boosted trees, one ensemble a level. Fitted by libraries, kept as arrays.

Both are fitted on `features`, which say nothing of who submits, and foresee the need relative to the anchor.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from audit.errors import AuditError
from audit.sizing.attempts import LEVELS, Floats
from audit.sizing.trees import Leaves, TreeEnsemble, stack

BOOSTED = (0.5, 0.9, 0.95, 0.99)  # the levels that are boosted; those between lie on a straight line
SEED = 20260504


class Model(Protocol):
    """What was fitted: quantiles of the logarithmic need over the anchor, (rows, levels), from the features."""

    def quantiles(self, x: Floats) -> Floats:
        """At each of `LEVELS`."""
        ...

    def to_arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """For the model file."""
        ...


@dataclass(frozen=True)
class Forest:
    """A quantile regression forest."""

    leaves: Leaves

    def quantiles(self, x: Floats) -> Floats:
        """At each of `LEVELS`."""
        return self.leaves.quantiles(_no_nan(x), LEVELS)

    def to_arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """For the model file."""
        return self.leaves.to_arrays(prefix)

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], prefix: str, where: str) -> "Forest":
        """Reads what `to_arrays` made. AuditError where it is none."""
        return cls(Leaves.from_arrays(arrays, prefix, where=where))


@dataclass(frozen=True)
class Boosted:
    """Gradient boosted trees under pinball loss, one group of trees a level."""

    trees: TreeEnsemble

    def quantiles(self, x: Floats) -> Floats:
        """At each of `LEVELS`."""
        found = np.sort(self.trees.predict(x), axis=1)
        return np.stack([_between(found, level) for level in LEVELS], axis=1)

    def to_arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """For the model file."""
        return self.trees.to_arrays(prefix)

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], prefix: str, where: str) -> "Boosted":
        """Reads what `to_arrays` made. AuditError where it is none."""
        return cls(TreeEnsemble.from_arrays(arrays, prefix, where=where))


def fit_forest(x: Floats, over_anchor: Floats) -> Forest:
    """A forest of 60 trees. `over_anchor` is the logarithmic need less the anchor."""
    from sklearn.ensemble import RandomForestRegressor

    from audit.sizing.tree_readers import from_forest

    plain = _no_nan(x).astype(np.float32)
    forest = RandomForestRegressor(
        60, min_samples_leaf=5, max_features=0.25, max_samples=0.5, n_jobs=2, random_state=SEED
    )
    forest.fit(plain, over_anchor)
    return Forest(Leaves.kept(from_forest(forest), plain, over_anchor.astype(np.float32), most=8, seed=SEED))


def fit_boosted(x: Floats, over_anchor: Floats) -> Boosted:
    """100 trees a level. `over_anchor` is the logarithmic need less the anchor."""
    try:
        import lightgbm
    except OSError as error:
        remedy = "install libgomp (Debian: apt-get install libgomp1)"
        raise AuditError(f"LightGBM cannot be loaded ({error})", remedy=remedy) from None

    from audit.sizing.tree_readers import from_lightgbm

    data = lightgbm.Dataset(x, over_anchor, params={"max_bin": 127, "verbose": -1}, free_raw_data=False)
    settings = {
        "objective": "quantile", "num_leaves": 31, "learning_rate": 0.06, "feature_fraction": 0.5, "max_bin": 127,
        "bagging_fraction": 0.7, "bagging_freq": 1, "min_data_in_leaf": min(20, max(5, len(x) // 20)),
        "num_threads": 1, "seed": SEED % 10_000, "deterministic": True, "force_row_wise": True, "verbose": -1,
    }  # fmt: skip
    boosters = [lightgbm.train({**settings, "alpha": level}, data, 100) for level in BOOSTED]
    return Boosted(stack([from_lightgbm(booster) for booster in boosters]))


@dataclass(frozen=True)
class Kind:
    """A learned expert: how it is fitted, and how it is read from a model file."""

    fit: Callable[[Floats, Floats], Model]
    read: Callable[[dict[str, NDArray[Any]], str, str], Model]


LEARNED: dict[str, Kind] = {
    "forest": Kind(fit_forest, Forest.from_arrays),
    "boosted": Kind(fit_boosted, Boosted.from_arrays),
}


def _no_nan(x: Floats) -> Floats:
    return np.nan_to_num(x, nan=-99.0, posinf=99.0, neginf=-98.0)


def _between(found: Floats, level: float) -> Floats:
    """The level on a straight line between those boosted; beyond the last, as steep as before it in log odds."""
    odds = [np.log(p / (1 - p)) for p in (*BOOSTED, level)]
    right = min(max(int(np.searchsorted(BOOSTED, level)), 1), len(BOOSTED) - 1)
    share = (odds[-1] - odds[right - 1]) / (odds[right] - odds[right - 1])
    value: Floats = found[:, right - 1] + share * (found[:, right] - found[:, right - 1])
    return value
