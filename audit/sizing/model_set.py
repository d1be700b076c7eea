"""The models of one cluster in its folder: one file a target, each with the few facts that an estimate needs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from audit.errors import AuditError
from audit.sizing.attempts import TARGETS
from audit.sizing.model_file import damaged, load, save
from audit.sizing.serving import Served

DAY_S: Final = 86_400.0
STALE_DAYS: Final = 30
_FACTS: Final = "facts"


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
    facts = _facts(found.card.get(_FACTS), found.path)
    served = Served.from_arrays(target, facts.expert, found.arrays, str(found.path))
    return TargetModel(served, facts, {key: said for key, said in found.card.items() if key != _FACTS})


def has_model(folder: Path, target: str) -> bool:
    """Whether a model of the target is there, sound or not."""
    card = folder / f"{target}.card.json"
    return card.is_symlink() or card.exists()


def readable(folder: Path, target: str) -> TargetModel | None:
    """The model of a target if there is one that this version can read."""
    try:
        return load_model(folder, target)
    except AuditError:
        return None


def remove_others(folder: Path, kept: set[str]) -> None:
    """Removes the models of targets that are not to be had any more."""
    for target in TARGETS.keys() - kept:
        (folder / f"{target}.card.json").unlink(missing_ok=True)
        for path in folder.glob(f"{target}-*.arrays"):
            path.unlink(missing_ok=True)


def _facts(said: Any, path: Path) -> Facts:
    """Facts of the right types, within what can be."""
    types = {"float": (int, float), "str": str, "bool": bool}
    fields = Facts.__dataclass_fields__
    if not isinstance(said, dict) or said.keys() != fields.keys():
        raise damaged(path, "has a card that lacks what an estimate needs")
    for name, field in fields.items():
        kind: Any = types[field.type if isinstance(field.type, str) else field.type.__name__]
        if not isinstance(said[name], kind) or (kind is not bool and isinstance(said[name], bool)):
            raise damaged(path, f"has a card whose {name} cannot be")
    facts = Facts(**said)
    times = (facts.made_s, facts.fitted_to_s, facts.data_to_s)
    if not (0.5 <= facts.quantile < 1 and 1 <= facts.mem_step_bytes <= 2**50 and all(abs(t) < 2**40 for t in times)):
        raise damaged(path, "has a card with amounts that cannot be")
    return facts
