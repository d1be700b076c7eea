"""A report's definition: its title and, in order, the pages it is made of (report.toml)."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from audit.errors import AuditError
from audit.materials import material


@dataclass(frozen=True)
class Definition:
    """What report.toml says; `templates` is the folder its pages' templates and style sheets stand in."""

    name: str
    title: str
    templates: Path
    pages: tuple[str, ...]


def definition(name: str = "recoverable_capacity") -> Definition:
    """The report called `name`. AuditError names the file where its definition cannot be read."""
    path = material(f"reports/{name}/report.toml")
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
        return Definition(
            name=said["name"],
            title=said["title"],
            templates=material(f"templates/{said['templates']}"),
            pages=tuple(said["pages"]),
        )
    except (tomllib.TOMLDecodeError, KeyError, TypeError, FileNotFoundError) as error:
        raise AuditError(
            f"the report's definition cannot be used: {error}",
            where=str(path),
            remedy="reinstall the package",
        ) from error
