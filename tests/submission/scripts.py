"""A batch script on disk, and what is read of it."""

import tempfile
from pathlib import Path

from audit.submission import Request, Submission, from_command


def submitted(*directives: str, typed: tuple[str, ...] = (), body: str = "srun ./solve\n") -> Submission:
    """The submission of a script with these `#SBATCH` directives."""
    text = "#!/bin/bash\n" + "".join(f"#SBATCH {line}\n" for line in directives) + body
    return of_bytes(text.encode(), *typed)


def of_bytes(script: bytes, *typed: str) -> Submission:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.sbatch"
        path.write_bytes(script)
        return from_command([*typed, str(path), "--script-argument"])


def request(*directives: str, typed: tuple[str, ...] = ()) -> Request:
    """The one request of such a script."""
    (found,) = submitted(*directives, typed=typed).requests
    return found


def typed(*words: str) -> Request:
    """The one request of options typed, with `--wrap` for a script."""
    (found,) = from_command([*words, "--wrap=hostname"]).requests
    return found
