"""The collector as it is put on nodes, run for real: builds the zip, starts it, reads back what it wrote."""

import gzip
import json
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audit.fleet.bundle import build
from tests.collectors.nvml.pythons import interpreter

Row = dict[str, str]


@dataclass
class Installed:
    """A collector in a folder of its own."""

    folder: Path
    root: Path = Path("/")
    python: str = field(default_factory=lambda: interpreter("3.11"))

    @property
    def spool(self) -> Path:
        return self.folder / "spool"

    def window(self, length_s: float = 1.3, **settings: Any) -> None:
        """A window of that many seconds from now, sampled every 0.2 s, an interval a second."""
        now_s = time.time()
        told = {"format": 1, "cluster": "c", "node": "n1", "roles": ["node"], "sample_s": 0.2, "interval_s": 1}
        told |= {"from_s": now_s - 1, "to_s": now_s + length_s, "min_free_disk_bytes": 0} | settings
        (self.folder / "window.json").write_text(json.dumps(told))

    def command(self, name: str, *more: str) -> list[str]:
        program = [self.python, "-I", "-B", str(self.folder / "collector.pyz"), name, "--dir", str(self.folder)]
        return [*program, *(["--root", str(self.root)] if name in {"run", "check"} else []), *more]

    def do(self, name: str, *more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(name, *more), capture_output=True, text=True, timeout=60, check=False)

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(self.command("run"), stderr=subprocess.PIPE, text=True)

    def status(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.do("status").stdout)
        return told

    def segments(self) -> list[Path]:
        return sorted(self.spool.glob("*.seg.gz"))

    def rows(self, kind: str) -> list[Row]:
        """All rows of a kind, over all closed segments, by the columns their header names."""
        return [row for path in self.segments() for row in rows(gzip.decompress(path.read_bytes()), kind)]

    def events(self) -> list[str]:
        return [row["kind"] for row in self.rows("event")]


def rows(text: bytes, kind: str) -> list[Row]:
    lines = text.decode().split("\n")
    assert lines[0].startswith("#")
    assert lines.pop() == ""
    columns = json.loads(lines[0][1:])["columns"][kind]
    split = [line.split("\t") for line in lines[1:]]
    return [dict(zip(columns, one[1:], strict=True)) for one in split if one[0] == kind]


def header(path: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()).split(b"\n")[0][1:])
    return told


def install(folder: Path, **known: Any) -> Installed:
    folder.mkdir(parents=True, exist_ok=True)
    build(folder / "collector.pyz")
    return Installed(folder, **known)


def tree(root: Path, files: dict[str, str]) -> Path:
    """A root to read from instead of /: what the collector needs of any node, and these files."""
    plain = {
        "proc/stat": "cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 100 0 50 800 50 0 0 0 0 0\nbtime 1700000000\n",
        "proc/meminfo": "MemTotal: 1000 kB\nMemAvailable: 600 kB\nSwapTotal: 100 kB\nSwapFree: 40 kB\n",
        "proc/loadavg": "0.50 0.40 0.30 1/100 1\n",
        "proc/sys/kernel/random/boot_id": "b0\n",
    }
    for name, text in {**plain, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root
