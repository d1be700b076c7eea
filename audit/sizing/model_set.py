"""The models of one cluster in its folder: one file a target, each with the few facts that an estimate needs."""

import hashlib
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from audit import __version__
from audit.errors import AuditError
from audit.sizing.attempts import LEVELS, TARGETS
from audit.sizing.calibration import SETTINGS
from audit.sizing.model_file import card_path, damaged, load, save
from audit.sizing.serving import Served

DAY_S: Final = 86_400.0
STALE_DAYS: Final = 30
# The version, the levels and the constants of the calibrator: with others, margins and debts mean something else.
MADE_BY: Final = f"{__version__}-{hashlib.sha256(repr((LEVELS, SETTINGS)).encode()).hexdigest()[:12]}"
_FACTS: Final = "facts"
_LATEST_S: Final = 7_258_118_400.0  # 2200-01-01 UTC


@dataclass(frozen=True)
class Facts:
    """What an estimate needs to know of a model beside its arrays: as of its training."""

    expert: str
    cluster: str
    made_s: float  # when it was fitted, epoch seconds
    fitted_to_s: float  # the last attempt that it was fitted on ended then
    data_to_s: float  # the last attempt that it remembers ended then
    quantile: float  # at which requests are advised
    mem_step_bytes: float  # memory is advised in these, on each node
    lowers_cores: bool  # the most cores in any interval are known
    generated_sample: bool
    made_by: str = MADE_BY

    def is_stale(self, now_s: float) -> bool:
        """Whether the cluster may have moved on."""
        return now_s - self.data_to_s > STALE_DAYS * DAY_S


@dataclass(frozen=True, eq=False)
class TargetModel:
    """A model with what is said of it."""

    served: Served
    facts: Facts
    card: Mapping[str, object]


def save_model(folder: Path, model: TargetModel) -> None:
    """Writes the model of a target and its card."""
    save(folder, model.served.target.name, model.served.arrays, {**model.card, _FACTS: asdict(model.facts)})


def load_model(folder: Path, target: str) -> TargetModel | None:
    """The model of a target; None where there is none. AuditError where it is damaged or of another version."""
    if not has_model(folder, target):
        return None
    found = load(folder, target)
    facts = _facts(found.card.get(_FACTS), found.card_path)
    with guarded(found.path):
        served = Served.from_arrays(target, facts.expert, found.arrays, str(found.path))
    return TargetModel(served, facts, {key: said for key, said in found.card.items() if key != _FACTS})


def has_model(folder: Path, target: str) -> bool:
    """Whether a model of the target is there, sound or not. OSError: the folder cannot be read."""
    try:
        os.lstat(card_path(folder, target))
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


@contextmanager
def guarded(where: Path) -> Iterator[None]:
    """A block that reads or asks a model: where its numbers break the reckoning, AuditError says that it is damaged.

    Every array is checked for its type and shape, but numbers that no training makes may still lie beyond an array's
    end, or overflow.
    """
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    except (ArithmeticError, LookupError, MemoryError, ValueError) as error:
        raise damaged(where, "holds numbers that no training makes") from error


def earlier_model(folder: Path, target: str) -> tuple[TargetModel | None, str | None]:
    """The model of a target if there is one that this version can read; else why that which is there cannot be."""
    try:
        return load_model(folder, target), None
    except AuditError as error:
        return None, error.what


def check_cluster(models: Iterable[TargetModel], cluster: str, folder: Path) -> None:
    """AuditError where one of the models is of another cluster than the one asked about."""
    for model in models:
        if model.facts.cluster != cluster:
            what = f"is of the cluster {model.facts.cluster!r}, and audit.toml is of {cluster!r}"
            raise damaged(card_path(folder, model.served.target.name), what)


def remove_others(folder: Path, kept: set[str]) -> None:
    """Removes the models of targets that are not to be had any more."""
    for target in TARGETS.keys() - kept:
        card_path(folder, target).unlink(missing_ok=True)
        for path in folder.glob(f"{target}-*.arrays"):
            path.unlink(missing_ok=True)


def _facts(said: Any, path: Path) -> Facts:
    """Facts of the right types, within what can be."""
    types = {"float": (int, float), "str": str, "bool": bool}
    fields = Facts.__dataclass_fields__
    if isinstance(said, dict) and said.get("made_by") != MADE_BY:
        raise damaged(path, "was made by another version of audit")
    if not isinstance(said, dict) or said.keys() != fields.keys():
        raise damaged(path, "lacks what an estimate needs")
    for name, field in fields.items():
        kind: Any = types[field.type if isinstance(field.type, str) else field.type.__name__]
        if not isinstance(said[name], kind) or (kind is not bool and isinstance(said[name], bool)):
            raise damaged(path, f"has a {name} that cannot be")
    facts = Facts(**said)
    times = (facts.made_s, facts.fitted_to_s, facts.data_to_s)
    are_times = all(0 <= moment < _LATEST_S for moment in times)
    if not (0.5 <= facts.quantile < 1 and 1 <= facts.mem_step_bytes <= 2**50 and are_times):
        raise damaged(path, "has amounts or times that cannot be")
    return facts
