"""Builds the node program: a shell head that finds a Python, then a zip of `playbooks/node/` and the collector.

It is the one file a step needs on a node, so a node needs no Ansible module, only `sh` and a Python 3.6 or newer.
"""

import hashlib
import io
import tempfile
import zipfile
from pathlib import Path

from audit.fleet.bundle import build
from audit.materials import material

_TIME = (1980, 1, 1, 0, 0, 0)  # the same bytes from the same files


def build_program(folder: Path) -> Path:
    """Writes the node program into `folder`; answers its path."""
    steps = material("playbooks") / "node"
    collector = folder / "collector.pyz"
    build(collector)
    files = {path.name: path.read_bytes() for path in sorted(steps.iterdir()) if path.is_file()}
    head = files.pop("entry.sh")
    files["collector.pyz"] = collector.read_bytes()
    files["supervise"] = (material("collectors") / "supervise").read_bytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, _TIME), files[name], zipfile.ZIP_DEFLATED)
    target = folder / "node.pyz"
    target.write_bytes(head + packed.getvalue())
    return target


def collector_hash() -> str:
    """The SHA-256 of the collector as it would be put on a node now."""
    with tempfile.TemporaryDirectory(prefix="audit-bundle-") as folder:
        path = Path(folder) / "collector.pyz"
        build(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()
