"""What other clusters teach: a small forest on the request alone, for a cluster that has no model of its own yet.

It holds nothing of anybody, and its levels are not calibrated for the cluster it is asked about.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from audit.sizing.attempts import LEVELS, Floats, Target
from audit.sizing.learned import Forest
from audit.sizing.model_file import card_path, damaged, load

FOLDER: Final = Path(__file__).parent / "prior"
PREFIX: Final = "forest."


@dataclass(frozen=True)
class Prior:
    """A model of several public logs; `card` says which."""

    forest: Forest
    card: dict[str, object]

    def needs(self, target: Target, asked: float, request: Floats) -> Floats:
        """At each of `LEVELS`, from what is asked for of the target and the columns of `request_columns`.

        NaN where the request does not name the target.
        """
        over = self.forest.quantiles(request_columns(request))[0]
        needs: Floats = np.exp(np.minimum(over, 50.0)) * max(asked, target.floor)
        return needs


def request_columns(request: Floats) -> Floats:
    """What the forest looks at, from (rows, 4): cores, memory, GPUs, time limit; NaN where not said or nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        columns: Floats = np.where(request > 0, np.log(request), np.nan)
    return columns


def load_prior(target: str) -> Prior | None:
    """The prior of a target; None where none is shipped."""
    if not card_path(FOLDER, target).is_file():
        return None
    found = load(FOLDER, target)
    forest = Forest.from_arrays(dict(found.arrays), PREFIX, str(found.path))
    if forest.leaves.trees.features != 4 or found.card.get("levels") != list(LEVELS):
        raise damaged(found.path, "looks at other features than this version has")
    return Prior(forest, dict(found.card))
