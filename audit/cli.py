"""The command line: what can be asked, and what is said where it fails."""

import argparse
import errno
import io
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from audit import __version__
from audit.errors import AuditError, ExitCode
from audit.site import site_commands
from audit.verbs import backtest as backtests
from audit.verbs import engagement, fleet, sizing
from audit.verbs import recommend as recommends
from audit.verbs import report as reports

Verb = Callable[[argparse.Namespace], ExitCode]
TABLES = """
    job step allocation usage node node_state span gpu_summary evidence_file reject slice_node window_bounds
    sample_job sample_gpu sample_node gpu_map telemetry_coverage collector_overhead unattributed
""".split()
INTERRUPTED = "what was done is kept, run the command again to go on"
SIZED = ("memory", "walltime", "cores", "gpus", "vram", "gpu_activity")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb; answers its exit code (`audit.errors.ExitCode`)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a character still gets the rest
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.verb(arguments))
    except AuditError as error:
        if arguments.debug:
            raise
        _say(f"audit: {error}")
        return int(error.exit_code)
    except KeyboardInterrupt:
        _say(f"audit: interrupted; {arguments.interrupted}")
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.DONE)
    except OSError as error:
        if arguments.debug:
            raise
        _say(f"audit: {_unusable(error)}")
        return int(ExitCode.FAILED)
    except Exception as error:
        if arguments.debug:
            raise
        first = (str(error).splitlines() or [""])[0]
        what = f"{type(error).__name__}: {first[:300]}"
        _say(f"audit: a fault of ours: {what}; run it with --debug and send us what it prints")
        return int(ExitCode.FAILED)


def _unusable(error: OSError) -> AuditError:
    """What is wrong with a file or a folder, in one line."""
    if error.errno == errno.ENOSPC:
        return AuditError("there is no space left to write to: make room and run this again")
    names = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes | Path)]
    what = f"cannot be used ({error.strerror or error})"
    return AuditError(what, where=" -> ".join(names), remedy="mend its place or its permissions, and run this again")


def _say(line: str) -> None:
    from audit.terminal import say

    say(line)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="audit",
        description="Measured capacity audits of Slurm clusters: evidence to hours, dollars and a report.",
        epilog="example:\n  audit demo /tmp/demo        # the whole chain on a generated cluster\n\n"
        "exit codes: 0 done, 1 failed, 2 usage, 3 no report possible, 4 partly done, 130 interrupted",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"audit {__version__}")
    parser.add_argument("--debug", action="store_true", help="show a traceback where something fails")
    parsers = parser.add_subparsers(title="verbs", metavar="VERB", required=True)

    _evidence_verbs(parsers)

    report = _verb(
        parsers,
        "report",
        reports.report,
        "write PDF, HTML, JSON and CSV to out/",
        "audit report --paper letter\n  audit report --format json,csv",
    )
    report.add_argument(
        "--format",
        dest="formats",
        metavar="A,B,…",
        type=_formats,
        default=reports.FORMATS,
        help=f"which of {', '.join(reports.FORMATS)} (default: all)",
    )
    report.add_argument("--paper", choices=("a4", "letter"), default="a4", help="of the PDF (default a4)")
    report.add_argument("--real-names", action="store_true", help="users by name, not by pseudonym")
    report.add_argument("--json", action="store_true", help="print report.json instead of the summary")

    _fleet_verbs(parsers)
    _size_verbs(parsers)

    backtest = _verb(
        parsers,
        "backtest",
        backtests.backtest,
        "score the forecasts in strict time order, beside calibrated rules of thumb",
        "audit backtest\n  audit backtest --target memory --mode start --json",
    )
    backtest.add_argument("--target", action="append", choices=SIZED, help="only this one; may be repeated")
    backtest.add_argument(
        "--mode",
        choices=("submit", "start"),
        default="submit",
        help="when each attempt is foreseen: as it is submitted, or again as it starts (default submit)",
    )
    backtest.add_argument("--out", type=Path, metavar="DIR", help="where the plots go (default: out/)")
    backtest.add_argument("--real-names", action="store_true", help="users by name, not by pseudonym")
    backtest.add_argument("--json", action="store_true", help="as JSON (backtest.schema.json)")

    explain = _verb(
        parsers,
        "explain",
        reports.explain,
        "print the rows behind a figure, which add up to it",
        "audit explain recoverable.high_usd\n  audit explain lost.TIMEOUT --limit 0 --json\n"
        "  audit explain               # every figure, its value and what it means",
    )
    explain.add_argument("figure", nargs="?", metavar="FIGURE", help="its key in report.json; none: lists every figure")
    explain.add_argument("--json", action="store_true", help="as JSON")
    explain.add_argument("--limit", type=_limit, default=50, help="rows at most, the largest; 0 for all (default 50)")
    explain.add_argument("--real-names", action="store_true", help="users by name, not by pseudonym")

    compare = _verb(
        parsers,
        "compare",
        reports.compare,
        "put two windows side by side",
        "audit compare spring autumn     # two folders of engagements\n"
        "  audit compare 2026-05-01..2026-05-15 2026-05-15..2026-05-29",
    )
    compare.add_argument("a", metavar="A", help="an engagement's folder, or a window FROM..TO of the one in --dir")
    compare.add_argument("b", metavar="B", help="the other one; it is reckoned with the prices and the policy of A")
    compare.add_argument("--json", action="store_true", help="as JSON")

    show = _verb(parsers, "show", engagement.show, "print one of the store's tables", "audit show job --json --limit 0")
    show.add_argument("table", choices=TABLES, help="which; allocation and usage are worked out from the others")
    show.add_argument("--json", action="store_true", help="as a JSON array of objects")
    show.add_argument("--limit", type=_limit, default=50, help="rows at most; 0 for all (default 50)")

    demo = _verb(
        parsers,
        "demo",
        engagement.demo,
        "the whole chain on a generated cluster month",
        "audit demo /tmp/demo --jobs 5000 --gpus 50",
    )
    demo.add_argument("folder", metavar="DIR", type=Path, help="the folder to make")
    demo.add_argument("--jobs", type=_count, default=20_000, help="jobs to submit (default 20,000)")
    demo.add_argument("--gpus", type=_count, default=100, help="GPUs of the cluster (default 100)")
    demo.add_argument("--days", type=_count, default=30, help="length of the window (default 30)")
    demo.add_argument("--seed", type=int, default=1, help="another seed, another month (default 1)")
    demo.add_argument(
        "--sampling",
        type=int,
        default=0,
        metavar="SECONDS",
        help="peaks as a sampler with this interval sees them",
    )
    demo.add_argument("--only-generate", action="store_true", help="stop once the evidence is written")
    return parser


def _evidence_verbs(parsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """`audit init` and `audit ingest`."""
    init = _verb(
        parsers,
        "init",
        engagement.init,
        "make the folder of an engagement",
        "audit init alpha --cluster alpha --timezone Europe/Berlin",
    )
    init.add_argument("folder", metavar="DIR", type=Path, help="the folder to make")
    init.add_argument("--cluster", required=True, help="the cluster's name in the accounting")
    init.add_argument("--timezone", required=True, help="of times without offset, e.g. Europe/Berlin or UTC")
    init.add_argument("--from", dest="window_from", metavar="TIME", help="the window's start, e.g. 2026-05-01")
    init.add_argument("--to", dest="window_to", metavar="TIME", help="its end, exclusive")
    init.add_argument("--nodes", metavar="HOSTLIST", help='the slice, e.g. "n[001-016]"; default: every node')
    init.add_argument(
        "--partition", action="append", default=[], help="the slice: all nodes of this partition; may be repeated"
    )

    ingest = _verb(
        parsers,
        "ingest",
        engagement.ingest,
        "take evidence into the store",
        "audit ingest sacct-*.txt nodes.txt node-events.txt",
        site_commands(),
    )
    ingest.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="dumps, folders of dumps, or - for standard input; plain, gz, xz or zst; "
        "none: whatever stands in evidence/ and was not taken yet",
    )
    ingest.add_argument("--columns", metavar="A,B,…", default="", help="the columns of a dump without header")
    ingest.add_argument(
        "--delimiter", default="", help=r"its delimiter, where a header does not tell, e.g. '|' or '\x1f'"
    )
    ingest.add_argument("--json", action="store_true", help="what came of each file, as JSON")


def _fleet_verbs(parsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """`audit deploy`, `audit status`, `audit collect` and `audit teardown`."""
    deploy = _verb(
        parsers,
        "deploy",
        fleet.deploy,
        "check the slice's nodes and put the collectors on them",
        "audit deploy --check            # a table: which nodes are fit, and why not\n"
        "  audit deploy --become --days 14\n"
        "  audit deploy --ssh-common-args '-J bastion'",
    )
    deploy.add_argument("--check", action="store_true", help="only look: nothing stays on the nodes")
    deploy.add_argument(
        "--days", type=_days, metavar="N", help="the window's length (default: to window.to, else fleet.days)"
    )
    _take_over(deploy)
    _reached(deploy)

    status = _verb(
        parsers,
        "status",
        fleet.status,
        "say how the collectors fare and whether the window will be covered",
        "audit status\n  audit status --watch 30\n  audit status --json",
    )
    status.add_argument(
        "--watch", nargs="?", type=_count, const=30, metavar="SECONDS", help="again and again, every 30 s or so many"
    )
    _reached(status)
    status.set_defaults(interrupted="nothing was changed")

    collect = _verb(
        parsers,
        "collect",
        fleet.collect,
        "bring home what is new, telemetry and accounting, and ingest it",
        "audit collect                   # safe to repeat, daily\n  audit collect --telemetry-only",
    )
    collect.add_argument("--telemetry-only", action="store_true", help="do not ask Slurm's accounting")
    _reached(collect)

    teardown = _verb(
        parsers,
        "teardown",
        fleet.teardown,
        "take the collectors away, and prove that nothing is left",
        "audit teardown\n  audit teardown --discard        # segments not collected are lost",
    )
    teardown.add_argument("--discard", action="store_true", help="remove segments that were not collected, too")
    _take_over(teardown)
    _reached(teardown)


def _take_over(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--take-over", action="store_true", help="also where another engagement's collector stands")


def _reached(verb: argparse.ArgumentParser) -> None:
    """What the verbs over Ansible share. Everything else is the user's ssh_config, ansible.cfg and ANSIBLE_*."""
    verb.add_argument("--json", action="store_true", help="as JSON")
    verb.add_argument("--forks", type=_count, default=0, metavar="N", help="hosts at once (default: Ansible's, 5)")
    verb.add_argument("--user", default="", help="who logs in (default: as SSH says)")
    verb.add_argument("--become", action="store_true", help="become root on the nodes")
    verb.add_argument("--become-method", default="", metavar="METHOD", help="sudo, su, doas, … (default: Ansible's)")
    verb.add_argument(
        "--ssh-common-args", default="", metavar="ARGS", help="for ssh, sftp and scp, e.g. '-J bastion' or '-F FILE'"
    )


def _size_verbs(parsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """`audit train`, `audit estimate` and `audit recommend`."""
    train = _verb(
        parsers,
        "train",
        sizing.train,
        "fit the models of what jobs need, on what was ingested",
        "audit train",
    )
    train.add_argument("--json", action="store_true", help="the models' cards, as JSON")
    train.set_defaults(interrupted="each model is the earlier one or the new one, none half of it; run it again")

    estimate = _verb(
        parsers,
        "estimate",
        sizing.estimate,
        "say what a job should ask for, and at which risk",
        "audit estimate -- --partition=gpu job.sbatch input.dat\n"
        "  audit estimate --risk 0.02 --job 'user=ann,account=chem,name=relax,cpus=16,mem=64G,time=8:00:00'\n"
        "  audit estimate --json < job.json       # one JSON object, or a list of them",
    )
    estimate.add_argument(
        "words", nargs="*", metavar="SBATCH", help="after --: options of sbatch, the script, its arguments; - for JSON"
    )
    estimate.add_argument("--job", metavar="K=V,…", help="the job without a script, e.g. 'cpus=4,mem=8G,time=1:00:00'")
    asked = estimate.add_mutually_exclusive_group()
    asked.add_argument(
        "--quantile", type=_quantile, metavar="Q", help="of such jobs that need no more than is advised, 0.5 to 0.995"
    )
    asked.add_argument(
        "--risk", type=_risk, metavar="R", help="that any limit that kills is too low, shared by all of them"
    )
    estimate.add_argument("--time-limit", action="store_true", help="advise a time limit too; it is kept otherwise")
    estimate.add_argument("--at", type=_moment, metavar="TIME", help="when it is submitted, UTC (default: now)")
    estimate.add_argument("--explain", action="store_true", help="each step from the forecast to the advice")
    estimate.add_argument("--json", action="store_true", help="as JSON (estimate.schema.json)")

    recommend = _verb(
        parsers,
        "recommend",
        recommends.recommend,
        "list the families to right-size, by dollars, and what changed since the last run",
        "audit recommend\n  audit recommend --by user --limit 0 --json",
    )
    recommend.add_argument(
        "--by", choices=("family", "user"), default="family", help="user: each family split by user (default family)"
    )
    recommend.add_argument("--limit", type=_limit, default=20, help="rows of each list; 0 for all (default 20)")
    recommend.add_argument("--out", type=Path, metavar="DIR", help="where its CSV and HTML go (default: out/)")
    recommend.add_argument("--real-names", action="store_true", help="users by name, not by pseudonym")
    recommend.add_argument("--json", action="store_true", help="as JSON (recommend.schema.json)")


def _verb(
    parsers: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    verb: Verb,
    what: str,
    example: str,
    commands: str = "",
) -> argparse.ArgumentParser:
    epilog = f"example:\n  {example}"
    if commands:
        epilog += (
            f"\n\nrun at the site, in bash, as a user who may see every job, for each day of the window:\n\n{commands}"
        )
    parser = parsers.add_parser(
        name, help=what, description=what, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if name not in ("init", "demo"):
        parser.add_argument("--dir", type=Path, default=Path(), help="the engagement's folder (default: this one)")
    parser.set_defaults(verb=verb, interrupted=INTERRUPTED)
    return parser


def _count(text: str) -> int:
    number = _whole(text)
    if number is None or number < 1:
        raise argparse.ArgumentTypeError("expects a whole number above 0")
    return number


def _days(text: str) -> float:
    days = _share(text)
    if not 0 < days <= 92:
        raise argparse.ArgumentTypeError("expects days, at most 92")
    return days


def _limit(text: str) -> int:
    number = _whole(text)
    if number is None or number < 0:
        raise argparse.ArgumentTypeError("expects 0 (for all) or a whole number above")
    return number


def _quantile(text: str) -> float:
    share = _share(text)
    if not 0.5 <= share < 1:
        raise argparse.ArgumentTypeError("expects a share from 0.5 to 0.995, e.g. 0.99")
    return share


def _risk(text: str) -> float:
    share = _share(text)
    if not 0 < share <= 0.5:
        raise argparse.ArgumentTypeError("expects a share above 0, at most 0.5, e.g. 0.02")
    return share


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _share(text: str) -> float:
    """Not a number where it is none, which lies in no range."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _moment(text: str) -> float:
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(text)
        at_s = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        at_s = math.nan
    if not 0 <= at_s < datetime(2200, 1, 1, tzinfo=UTC).timestamp():
        raise argparse.ArgumentTypeError("expects a time of the years 1970 to 2199, e.g. 2026-05-20T09:30:00")
    return at_s


def _formats(text: str) -> tuple[str, ...]:
    asked = tuple(name.strip() for name in text.split(","))
    if unknown := [name for name in asked if name not in reports.FORMATS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(reports.FORMATS)}")
    return asked
