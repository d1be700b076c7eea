"""The errors a person sees: one line that says what, where and what to do next; and the exit codes."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the command's exit status means."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NO_REPORT = 3
    PARTLY_DONE = 4
    INTERRUPTED = 130


class AuditError(Exception):
    """A failure with its remedy; printed as one line, no traceback."""

    exit_code = ExitCode.FAILED

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what, self.where, self.remedy = what, where, remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        tail = f"; {self.remedy}" if self.remedy else ""
        return " ".join(f"{place}{self.what}{tail}".split())


class UsageError(AuditError):
    """The command line or `audit.toml` asks for something that cannot be."""

    exit_code = ExitCode.USAGE


class NoReportError(AuditError):
    """There is nothing to report on: no attempt in the window, or a node class nobody priced."""

    exit_code = ExitCode.NO_REPORT
