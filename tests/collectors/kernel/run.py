"""Runs the real collector on a real new kernel: Debian's user-mode Linux, booted as a program on this machine's files.

For what this machine's own kernel may not have: the cgroup v2 files of memory, CPU and I/O. Prints what each job of
`node.py` knows of its use beside what the collector measured, as JSON; exit 1 where they differ by more than 5 %.
Writes below ~/.cache/capacity-audit/uml (two packages, once) and a temporary folder; the booted kernel sees this
machine's files read-only. Where it cannot run, one line says why.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.collectors.kernel import node
from tests.collectors.program import Row, install

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "capacity-audit" / "uml"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
PACKAGES = ("user-mode-linux", "libc6")
LOADER = "ld-linux-x86-64.so.2"
TOLERANCE = 0.05
SINCE_WITHIN_S = 1.0
BOOT_TIMEOUT_S = 240
SUMMED = {"cpu_s", "throttled_s", "read_bytes", "write_bytes"}


class CannotRun(Exception):
    """Why not, in one line."""


def mirror() -> str:
    """The Debian archive that this machine's own apt uses."""
    asked = ["apt-get", "indextargets", "--format", "$(REPO_URI)"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split()
    found = next((uri for uri in told if uri.rstrip("/").endswith("/debian")), None)
    if found is None:
        raise CannotRun("its apt knows no Debian archive")
    return found


def fetch() -> None:
    """Brings the kernel and the C library it wants, from Debian sid by an apt of its own."""
    if platform.machine() != "x86_64" or not KEYRING.exists() or not shutil.which("apt-get"):
        raise CannotRun("it needs x86_64, apt and Debian's keyring")
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE.parent) as made:
        home = Path(made)
        for folder in ("lists/partial", "archives/partial", "new"):
            (home / folder).mkdir(parents=True)
        (home / "status").touch()
        (home / "sources").write_text(f"deb [signed-by={KEYRING}] {mirror()} sid main\n")
        (home / "apt.conf").write_text(
            f'Dir::State "{home}"; Dir::State::status "{home}/status"; Dir::Cache "{home}"; APT::Sandbox::User "";\n'
            f'Dir::Etc::sourcelist "{home}/sources"; Dir::Etc::sourceparts "-"; Acquire::Languages "none";\n'
            # The packages are checked against their signed list; a clock that is off is no reason to refuse that.
            'Acquire::Check-Valid-Until "false"; APT::Update::Error-Mode "any";\n'
        )
        for command in (["update"], ["download", *PACKAGES]):
            quiet(home, "apt-get", "-q", *command)
        for package in home.glob("*.deb"):
            quiet(home, "dpkg-deb", "-x", str(package), "tree")
        for name in (LOADER, "libc.so.6"):
            shutil.copy(home / "tree/usr/lib/x86_64-linux-gnu" / name, home / "new")
        # It is to load this C library, not the machine's: its loader is named from the folder it is started in.
        program = (home / "tree/usr/bin/linux.uml").read_bytes()
        named = f"/lib64/{LOADER}\0".encode()
        (home / "new/linux").write_bytes(program.replace(named, LOADER.encode().ljust(len(named), b"\0"), 1))
        (home / "new/linux").chmod(0o755)
        (home / "new").rename(CACHE)


def quiet(home: Path, *command: str) -> None:
    environment = {**os.environ, "APT_CONFIG": str(home / "apt.conf"), "LC_ALL": "C"}
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise CannotRun(f"{command[0]} failed: {said[-1] if said else done.returncode}")


def boot(out: Path) -> str:
    """Runs `node.py` as the first process; what the console said."""
    for disk in ("disk", "swap"):
        with (out / disk).open("wb") as made:
            made.truncate(256 << 20)
    shutil.copy(str(node.__file__), out)
    command = ["./linux", "mem=512M", "rootfstype=hostfs", "rootflags=/", "ro", "quiet", f"uml_dir={out}/"]
    command += [f"ubd0={out}/disk", f"ubd1={out}/swap", "con=null", "con0=null,fd:1", "ssl=null"]
    command += [f"init={Path(sys.executable).resolve()}", "--", f"{out}/node.py", str(out)]
    environment = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(CACHE), "TMPDIR": str(out)}
    with (out / "console").open("wb") as console:
        try:
            told = {"stdout": console, "stderr": console, "timeout": BOOT_TIMEOUT_S}
            subprocess.run(command, cwd=CACHE, env=environment, check=False, **told)
        except subprocess.TimeoutExpired:
            console.write(b"it did not end in %d s" % BOOT_TIMEOUT_S)
    return (out / "console").read_text(errors="replace")


def measured(rows: list[Row], column: str) -> float | None:
    told = [float(row[column]) for row in rows if row[column]]
    if not told:
        return None
    return sum(told) if column in SUMMED else max(told)


def agrees(column: str, known: float, value: float | None) -> bool:
    if value is None:
        return False
    return abs(value - known) <= (SINCE_WITHIN_S if column == "since_s" else TOLERANCE * known)


def main() -> int:
    """0: all agree, or it cannot run here; 1: a figure is off, or the kernel did not come up."""
    try:
        if not (CACHE / "linux").exists():
            fetch()
    except CannotRun as error:
        print(f"the new kernel is not run: {error}", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as made:
        collector = install(Path(made))
        console = boot(collector.folder)
        if not (collector.folder / "known.json").exists():
            print(console, file=sys.stderr)
            return 1
        known = json.loads((collector.folder / "known.json").read_text())
        rows = collector.rows("job")
        known[""] = {"unmapped": 1}
        found: list[dict[str, Any]] = []
        for job, columns in known.items():
            of_job = [row for row in rows if row["job"] == job] if job else collector.rows("interval")
            for column, value in columns.items():
                told = measured(of_job, column)
                found.append({"job": job, "column": column, "known": value, "measured": told})
                found[-1]["agrees"] = agrees(column, value, told)
    print("[" + ",\n ".join(json.dumps(one) for one in found) + "]")
    return int(not all(one["agrees"] for one in found))


if __name__ == "__main__":
    sys.exit(main())
