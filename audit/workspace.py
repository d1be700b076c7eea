"""One engagement is one folder: the paths in it, and `audit.toml`, read, checked and written."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from audit.errors import UsageError
from audit.price_settings import Prices, read_prices
from audit.toml_table import Table, parsed, quote

CONFIG_NAME = "audit.toml"
GIB = 2**30
QUANTILES = (0.9, 0.95, 0.99, 0.995)  # at which requests are advised: so many of 1 need no more
CAUTIOUS_QUANTILE = 0.995  # of the lower bound of what could be won back


@dataclass(frozen=True)
class NodeSize:
    """A node size the operator states, where Slurm cannot tell: what a job can be given there."""

    names: str
    cores: float | None
    mem_bytes: int | None
    gpus: float | None
    gpu_type: str | None


@dataclass(frozen=True)
class Policy:
    """Thresholds a reader may question; each stands in `audit.toml`."""

    coverage_floor: float = 0.8
    mem_step_bytes: int = GIB
    quantile: float = 0.99
    whole_node_partitions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fleet:
    """How the slice's nodes are reached, and how finely they are watched. `become` None: as Ansible is set up."""

    controller: str = "localhost"
    inventory: str = ""
    python: str = ""
    become: bool | None = None
    days: float = 14.0
    sample_s: float = 10.0
    interval_s: float = 60.0


@dataclass(frozen=True)
class Config:
    """`audit.toml`, checked. Window bounds are UTC; None means the span of the accounting ingested."""

    cluster: str
    timezone: str
    generated_sample: bool = False
    window_from: datetime | None = None
    window_to: datetime | None = None
    slice_nodes: str = ""
    slice_partitions: tuple[str, ...] = ()
    node_sizes: tuple[NodeSize, ...] = ()
    prices: Prices = field(default_factory=Prices)
    policy: Policy = field(default_factory=Policy)
    fleet: Fleet = field(default_factory=Fleet)


@dataclass(frozen=True)
class Workspace:
    """An engagement's folder and its configuration."""

    root: Path
    config: Config

    @property
    def evidence(self) -> Path:
        """Immutable inputs and their manifest."""
        return self.root / "evidence"

    @property
    def database(self) -> Path:
        """The derived store; delete it and `audit ingest` rebuilds the same figures."""
        return self.root / "audit.duckdb"

    @property
    def models(self) -> Path:
        """Fitted models, and what they would have advised; derived."""
        return self.root / "models"

    @property
    def replay(self) -> Path:
        """What the model would have advised each attempt of the window before it started, at each quantile."""
        return self.models / "replay.parquet"

    @property
    def fleet(self) -> Path:
        """What is deployed from here, and where transfers arrive."""
        return self.root / "fleet"

    @property
    def out(self) -> Path:
        """Reports."""
        return self.root / "out"


_LARGEST = 1e9  # of cores, GiB and GPUs: what is larger is a slip, and must not overflow
_YEARS = range(1980, 2200)
_LONGEST_DAYS = 92
HOST = re.compile(r"(?!(?:all|ungrouped|audit)$)[A-Za-z0-9][A-Za-z0-9._-]{0,252}")  # no pattern of Ansible's, no option


class _Wrong(Exception):
    """What is wrong with one value of `audit.toml`, and what it should be."""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Wrong('expects text, e.g. "alpha"')
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise _Wrong('expects a list of names, e.g. ["gpu", "batch"]')
    return tuple(value)


def _hosts(value: Any) -> str:
    from audit.units import is_host_list

    if not is_host_list(_text(value).strip()):
        raise _Wrong('expects a host list without wildcards, e.g. "n[001-016,020],login"')
    return str(value).strip()


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Wrong("expects true or false")
    return value


def _amount(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LARGEST:
        raise _Wrong("expects a number that is not negative, and no slip")
    return float(value)


def _positive(value: Any) -> float:
    if _amount(value) == 0:
        raise _Wrong("expects a number above 0")
    return float(value)


def _host(value: Any) -> str:
    if not HOST.fullmatch(_text(value)):
        raise _Wrong('expects the name of one host, e.g. "ctl"')
    return str(value)


def _program(value: Any) -> str:
    if not re.fullmatch(r"[A-Za-z0-9/._-]+", _text(value)):
        raise _Wrong('expects the path of an interpreter, e.g. "/usr/bin/python3.9"')
    return str(value)


def _days(value: Any) -> float:
    if _positive(value) > _LONGEST_DAYS:
        raise _Wrong(f"expects days, at most {_LONGEST_DAYS}")
    return float(value)


def _seconds(value: Any) -> float:
    if not 1 <= _amount(value) <= 3600:
        raise _Wrong("expects seconds, from 1 to 3600")
    return float(value)


def _share(value: Any) -> float:
    if _amount(value) > 1:
        raise _Wrong("expects a share from 0 to 1, e.g. 0.8")
    return float(value)


def _quantile(value: Any) -> float:
    if _amount(value) not in QUANTILES:
        raise _Wrong(f"expects one of {', '.join(f'{q:g}' for q in QUANTILES)}")
    return float(value)


def _gib(value: Any) -> int:
    return int(_positive(value) * GIB)


def _timezone(value: Any) -> str:
    name = _text(value)
    try:
        if name in ("localtime", "Factory") or name.startswith(("posix", "right")):
            raise KeyError(name)  # the machine's own, not a place's
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise _Wrong(f'"{name}" is no time zone; use an IANA name such as "Europe/Berlin", or "UTC"') from None
    return name


def _moment(value: Any) -> datetime | date:
    try:
        moment = value if isinstance(value, datetime | date) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise _Wrong("expects a date or a time, e.g. 2026-05-01 or 2026-05-01T06:00:00") from None
    if moment.year not in _YEARS:
        raise _Wrong(f"expects a year from {_YEARS[0]} to {_YEARS[-1]}")
    return moment


_KEYS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "": {"cluster": _text, "timezone": _timezone, "generated_sample": _flag},
    "window": {"from": _moment, "to": _moment},
    "slice": {"nodes": _hosts, "partitions": _texts},
    "nodes": {"names": _hosts, "cores": _positive, "mem_gib": _gib, "gpus": _amount, "gpu_type": _text},
    "fleet": {
        "controller": _host,
        "inventory": _text,
        "python": _program,
        "become": _flag,
        "days": _days,
        "sample_s": _seconds,
        "interval_s": _seconds,
    },
    "policy": {"coverage_floor": _share, "mem_step_gib": _gib, "quantile": _quantile, "whole_node_partitions": _texts},
}
_TABLES = {*_KEYS, "prices"} - {""}


def to_utc(moment: datetime | date, timezone: str) -> datetime:
    """A moment as written (local to `timezone` unless it carries an offset; a date is its midnight) in UTC."""
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=ZoneInfo(timezone))
    return moment.astimezone(UTC)


def find_workspace(start: Path) -> Workspace:
    """The engagement's folder: `start` itself. Raises UsageError where there is no `audit.toml`."""
    if not (start / CONFIG_NAME).is_file():
        raise UsageError(
            f"no {CONFIG_NAME} here",
            where=str(start),
            remedy="make one with `audit init DIR`, or name it with --dir",
        )
    return Workspace(root=start, config=read_config(start / CONFIG_NAME))


def read_config(path: Path) -> Config:
    """Reads and checks `audit.toml`. Every UsageError names the key, the line and the remedy."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot be read ({error})", where=str(path), remedy="mend or remake it") from None
    return parse_config(text, where=str(path), folder=path.parent)


def parse_config(text: str, *, where: str = CONFIG_NAME, folder: Path = Path()) -> Config:
    """The configuration in the text of the `audit.toml` of `folder`; `where` is the name that errors show."""
    whole = parsed(text, where)
    raw = whole.values

    def fail(table: str, key: str, why: str) -> UsageError:
        return Table({}, (table,) if table else (), text, where).fail(key, why)

    def section(table: str, given: Any) -> dict[str, Any]:
        if not isinstance(given, dict):
            raise fail("", table, f"is a table; write [{table}] on a line of its own")
        parsed = {}
        for key, value in given.items():
            if table == "" and key in _TABLES:
                continue
            if key not in _KEYS[table]:
                known = sorted({*_KEYS[table], *(_TABLES if table == "" else ())})
                raise fail(table, key, f"is not a key of ours; known: {', '.join(known)}; mend its name or remove it")
            try:
                parsed[key] = _KEYS[table][key](value)
            except _Wrong as wrong:
                raise fail(table, key, str(wrong)) from None
        return parsed

    top = section("", raw)
    for key in ("cluster", "timezone"):
        if key not in top:
            raise UsageError(f"{key} is missing", where=f"{where}:1", remedy=f'add a line such as {key} = "…"')
    window = section("window", raw.get("window", {}))
    bounds = {key: to_utc(moment, top["timezone"]) for key, moment in window.items()}
    if len(bounds) == 2 and bounds["from"] >= bounds["to"]:
        raise fail("window", "to", "is not after window.from; the window is from inclusive, to exclusive")
    area, policy, fleet = (section(t, raw.get(t, {})) for t in ("slice", "policy", "fleet"))
    sizes = raw.get("nodes", [])
    if not isinstance(sizes, list):
        raise fail("", "nodes", "is a list of tables; write [[nodes]]")
    stated = [_node_size(section("nodes", size), fail) for size in sizes]
    twice = _named_twice(stated)
    if twice:
        raise fail("nodes", "names", f"gives {twice} a size twice; name each node once")
    return Config(
        **top,
        window_from=bounds.get("from"),
        window_to=bounds.get("to"),
        slice_nodes=area.get("nodes", ""),
        slice_partitions=area.get("partitions", ()),
        node_sizes=tuple(stated),
        prices=read_prices(whole.table("prices", 'book = "list", under [prices]'), folder),
        policy=Policy(
            coverage_floor=policy.get("coverage_floor", Policy.coverage_floor),
            mem_step_bytes=policy.get("mem_step_gib", Policy.mem_step_bytes),
            quantile=policy.get("quantile", Policy.quantile),
            whole_node_partitions=policy.get("whole_node_partitions", ()),
        ),
        fleet=Fleet(**fleet),
    )


def _node_size(size: dict[str, Any], fail: Callable[[str, str, str], UsageError]) -> NodeSize:
    if "names" not in size:
        raise fail("nodes", "names", 'is missing: every [[nodes]] says which, e.g. names = "n[01-16]"')
    return NodeSize(size["names"], size.get("cores"), size.get("mem_gib"), size.get("gpus"), size.get("gpu_type"))


def _named_twice(sizes: list[NodeSize]) -> str | None:
    from audit.units import hosts

    seen: set[str] = set()
    for size in sizes:
        for node in hosts(size.names):
            if node in seen:
                return node
            seen.add(node)
    return None


def config_text(
    *,
    cluster: str,
    timezone: str,
    window_from: str | None = None,
    window_to: str | None = None,
    nodes: str | None = None,
    partitions: tuple[str, ...] = (),
    accelerators: Mapping[str, str] | None = None,
    generated_sample: bool = False,
) -> str:
    """An `audit.toml` that states what was asked and shows, commented out, what else can be stated."""
    listed = ", ".join(quote(p) for p in partitions)
    chosen = "\n".join(f"{quote(k)} = {quote(v)}" for k, v in (accelerators or {}).items())
    levels = ", ".join(f"{quantile:g}" for quantile in QUANTILES)
    lines = [
        f"cluster = {quote(cluster)}",
        f"timezone = {quote(timezone)}          # of the times in dumps that carry no offset",
        *(["generated_sample = true   # made by `audit demo`, not by a cluster"] if generated_sample else []),
        "",
        "[window]                   # from inclusive, to exclusive; default: the span of the accounting",
        f"from = {quote(window_from)}" if window_from else "# from = 2026-05-01",
        f"to = {quote(window_to)}" if window_to else "# to = 2026-05-15",
        "",
        "[slice]                    # default: every node; `audit deploy` wants them named",
        f"nodes = {quote(nodes)}" if nodes else '# nodes = "n[001-016]"',
        f"partitions = [{listed}]" if partitions else '# partitions = ["gpu"]',
        "",
        "# [[nodes]]                # sizes, where `scontrol show node` is not to be had",
        '# names = "n[001-016]"',
        "# cores = 64",
        "# mem_gib = 512",
        "# gpus = 4",
        '# gpu_type = "a100"',
        "",
        "[prices]",
        'book = "list"              # or your own, beside this file: "my-prices.toml", with lines such as',
        '# currency = "EUR", usd_per_unit = 1.08, [node_hour] "4xA100-80GB" = 11.50, fallback = "list" for the rest',
        "",
        "[prices.accelerators]      # which card a GRES type is, where two fit",
        chosen or '# a100 = "A100-80GB"',
        "",
        "[prices.usd_per_node_hour] # your own prices, by node class as the report names it",
        '# "4xA100-80GB" = 12.50',
        "",
        '# [prices.owned."4xA100-80GB"] # or what a node you bought costs: capital_usd = 240000, years = 4,',
        "# power_kw = 6, pue = 1.3, usd_per_kwh = 0.15, running_usd_per_year = 20000",
        "",
        "[policy]",
        f"coverage_floor = {Policy.coverage_floor}       # below this share of dollars measured, no headline",
        f"mem_step_gib = {Policy.mem_step_bytes // GIB}           # memory requests are rounded up to this",
        f"quantile = {Policy.quantile:g}            # of jobs that need no more than is advised: {levels}",
        "whole_node_partitions = [] # partitions that hand out whole nodes",
        "",
        "[fleet]                    # the measurement window: audit deploy, status, collect, teardown",
        '# controller = "ctl"       # where sacct and scontrol run; default: this machine',
        '# inventory = "hosts.ini"  # an Ansible inventory of yours; default: the slice\'s nodes, by name',
        f"# days = {Fleet.days:g}                # of a window without an end; sample_s = {Fleet.sample_s:g}, "
        f"interval_s = {Fleet.interval_s:g}",
        '# become = true            # become root there; python = "/usr/bin/python3.9" if another than found',
        "",
    ]
    return "\n".join(lines)


def check_free(root: Path) -> None:
    """UsageError where `root` holds an engagement already."""
    if (root / CONFIG_NAME).exists():
        raise UsageError("is there already", where=str(root / CONFIG_NAME), remedy="edit it, or choose another folder")


def create_workspace(root: Path, text: str) -> Workspace:
    """Makes the folder with `text` as its `audit.toml`; refuses to touch one that is there."""
    path = root / CONFIG_NAME
    check_free(root)
    try:
        config = parse_config(text, folder=root)
    except UsageError as error:
        error.where = "audit init"  # the file is not there yet: a line of it would tell nothing
        raise
    try:
        (root / "evidence").mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(
            f"cannot be made ({error.strerror})", where=str(root), remedy="choose another folder"
        ) from None
    return Workspace(root=root, config=config)
