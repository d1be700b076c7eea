"""The hooks that start the collector at boot: a unit systemd accepts and counts as confined, a script sh accepts."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from audit.materials import material

NODE = material("playbooks") / "node"
REACHES = re.findall(r'^_TO_\w+ = b"(.*)"$', (NODE / "put.py").read_text(), re.MULTILINE)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
@pytest.mark.parametrize("reach", REACHES)
def test_systemd_takes_the_unit_and_finds_it_confined(tmp_path: Path, reach: str) -> None:
    unit = tmp_path / "audit-collector.service"
    text = (NODE / unit.name).read_text().replace("@PYTHON@", "/bin/sh")
    unit.write_text(text.replace("@NETWORK@", reach.replace("\\n", "\n")))
    verified = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (verified.returncode, [line for line in verified.stderr.splitlines() if unit.name in line]) == (0, [])
    rated = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=30", unit], capture_output=True, check=False
    )
    assert rated.returncode == 0  # an exposure of at most 3.0 of 10


def test_no_placeholder_is_left_unknown() -> None:
    texts = [(NODE / name).read_text() for name in ("audit-collector.service", "audit-collector.init")]
    assert {word for text in texts for word in re.findall(r"@[A-Z]+@", text)} == {"@PYTHON@", "@NETWORK@"}


@pytest.mark.parametrize("script", ["entry.sh", "audit-collector.init"])
def test_the_scripts_parse(script: str) -> None:
    assert subprocess.run(["sh", "-n", NODE / script], capture_output=True, text=True, check=True).stderr == ""
