"""Finds the product's materials (reports, templates), from a checkout and from the wheel alike."""

from pathlib import Path


def material(name: str) -> Path:
    """The folder or file `name` ("templates", "reports/…"): in the wheel under `audit/`, else beside it."""
    package = Path(__file__).resolve().parent
    for root in (package, package.parent):
        if (root / name).exists():
            return root / name
    raise FileNotFoundError(f"material {name!r} is neither in {package} nor beside it: reinstall the package")
