"""Builds the collector's zip application. Reads the collectors' sources and the installed NVML bindings.

The same sources give the same octets, so that a node's copy can be compared by its hash.
"""

import importlib.util
import zipfile
from pathlib import Path

from audit.errors import AuditError
from audit.fleet.bindings import cut_down
from audit.materials import material

# The earliest time a zip can tell.
FIXED_TIME = (1980, 1, 1, 0, 0, 0)


def build(target: Path) -> Path:
    """Writes the zip application to `target`, which it returns; raises AuditError without the NVML bindings."""
    folder = material("collectors")
    sources = {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in [folder / "__main__.py", *sorted((folder / "audit_collector").glob("*.py"))]
    }
    sources["pynvml.py"] = cut_down(_bindings().read_text(encoding="utf-8"), list(sources.values()))
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        for name in sorted(sources):
            entry = zipfile.ZipInfo(name, FIXED_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            made.writestr(entry, sources[name])
    return target


def _bindings() -> Path:
    """Where the NVML bindings are installed."""
    found = importlib.util.find_spec("pynvml")
    if found is None or found.origin is None:
        raise AuditError("nvidia-ml-py is not installed beside the audit: reinstall it with its dependencies")
    return Path(found.origin)
