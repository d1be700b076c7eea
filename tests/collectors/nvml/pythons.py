"""The Pythons found here, for tests of code that has to run on all of them."""

import shutil
import subprocess
from pathlib import Path

import pytest

WANTED = ("3.6", "3.9", "3.11", "3.13", "3.14")


def interpreter(version: str) -> str:
    """Path of the Python of this version (on PATH, or one that pyenv made); skips the test where there is none."""
    made = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))
    for candidate in [shutil.which(f"python{version}"), *map(str, made)]:
        # A pyenv shim is on PATH for every version, whether or not it may be used here.
        if candidate and not subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode:
            return candidate
    pytest.skip(f"no Python {version} here")
