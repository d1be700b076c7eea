"""Runs one of Slurm's commands and hands on its output line by line. Starts a child, waits for it, leaves none."""

import os
import select
import signal
import subprocess
import time

LINE_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 16
# Times as UTC, whatever the machine's zone.
_ENVIRONMENT = {"TZ": "UTC0", "LC_ALL": "C"}
_PASSED_ON = ("PATH", "SLURM_CONF", "LD_LIBRARY_PATH", "HOME")


class CommandError(Exception):
    """The command could not be run, failed, or took too long; the text is one line."""


def lines(arguments: list, timeout_s: float) -> object:
    """The lines of a command's output, without their LF, as text; raises CommandError, also after some lines."""
    environment = dict(_ENVIRONMENT)
    environment.update({name: os.environ[name] for name in _PASSED_ON if name in os.environ})
    try:
        child = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            preexec_fn=_apart,  # noqa: PLW1509  the function takes no lock
        )
    except OSError as error:
        raise CommandError("%s: %s" % (arguments[0], error.strerror)) from error
    try:
        for line in _read(child, time.monotonic() + timeout_s, arguments, timeout_s):
            yield line
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()
        child.stdout.close()
        child.stderr.close()


def _read(child: object, until_s: float, arguments: list, timeout_s: float) -> object:
    out, said = child.stdout.fileno(), child.stderr.fileno()
    rest, told = b"", b""
    reading = [out, said]
    while reading:
        left_s = until_s - time.monotonic()
        if left_s <= 0:
            raise CommandError("%s: no answer within %g s" % (" ".join(arguments), timeout_s))
        for fd in select.select(reading, [], [], left_s)[0]:
            part = os.read(fd, _CHUNK_BYTES)
            if not part:
                reading.remove(fd)
            elif fd == said:
                told = (told + part)[-2000:]
            else:
                whole = (rest + part).split(b"\n")
                rest = whole.pop()[:LINE_BYTES]
                for line in whole:
                    yield line.decode("utf-8", "replace")
    if rest:
        yield rest.decode("utf-8", "replace")
    code = child.wait()
    if code:
        last = told.decode("utf-8", "replace").strip().splitlines()
        raise CommandError("%s: exit %d: %s" % (" ".join(arguments), code, last[-1] if last else "nothing said"))


def _apart() -> None:
    # The collector blocks the signals it waits for; a child must not inherit that.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.nice(10)
