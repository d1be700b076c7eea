"""What a core, a GiB and a GPU cost an hour at this site, in a file small enough for every estimate to read."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from audit.errors import NoReportError
from audit.sizing.model_file import damaged, read_regular, write_whole

if TYPE_CHECKING:
    import duckdb

    from audit.price_settings import Prices

NAME: Final = "prices.json"
SCHEMA: Final = "audit-prices/1"
NOT_THERE: Final = "no prices are written yet: run `audit train`"
_MOST_BYTES: Final = 2**20
_GIB: Final = 2**30


@dataclass(frozen=True)
class RunPrices:
    """US dollars an hour by resource, where no node is charged as a whole; None, with a reason, where not known."""

    usd_per_core_hour: float | None
    usd_per_mem_gib_hour: float | None
    usd_per_gpu_hour: dict[str, float | None]  # by GRES type
    reasons: dict[str, str]  # by core, mem_gib and GRES type: why it has no price
    source: dict[str, str]  # by the same: what the price rests on

    def saved_usd(
        self, *, cores: float, mem_bytes: float, gpus: float, gpu_type: str | None, run_s: float
    ) -> tuple[float | None, str | None]:
        """What giving these up for so long is worth; None with the reason where something of it has no price."""
        parts = [(cores, self.usd_per_core_hour, "core"), (mem_bytes / _GIB, self.usd_per_mem_gib_hour, "mem_gib")]
        card = gpu_type or (next(iter(self.usd_per_gpu_hour)) if len(self.usd_per_gpu_hour) == 1 else None)
        if gpus and card is None:
            return None, "the request names no GPU type, and the cluster has several"
        parts.append((gpus, self.usd_per_gpu_hour.get(card or ""), card or ""))
        total = 0.0
        for amount, usd, name in parts:
            if amount and usd is None:
                return None, self.reasons.get(name, f"no price of {name} is known")
            total += amount * (usd or 0.0) * run_s / 3600
        return total, None


def write_prices(connection: "duckdb.DuckDBPyConnection", prices: "Prices", folder: Path) -> RunPrices:
    """Writes the prices of the resources that the store's nodes have and its jobs held."""
    from audit.pricing import gpu_counts, gpu_rate, read_tariff, unbundled_rate

    tariff = read_tariff(prices)
    held = connection.execute("SELECT gres FROM node UNION SELECT alloc_gres FROM job ORDER BY ALL").fetchall()
    types = sorted({card for (gres,) in held for card in gpu_counts(gres or "")})
    reasons: dict[str, str] = {}
    source: dict[str, str] = {}

    def usd(name: str, rate: Callable[[], Any]) -> float | None:
        try:
            found = rate()[1]
        except NoReportError as error:
            reasons[name] = str(error)
            return None
        source[name] = f"{found.basis}: {found.source}"
        return float(found.usd_per_hour)

    found = RunPrices(
        usd("core", lambda: unbundled_rate("core", tariff)),
        usd("mem_gib", lambda: unbundled_rate("mem_gib", tariff)),
        {card: usd(card, lambda card=card: gpu_rate(f"gpu:{card}=1" if card else "gpu=1", tariff)) for card in types},  # type: ignore[misc]
        reasons,
        source,
    )
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"schema": SCHEMA, **asdict(found)}, indent=1) + "\n"
    write_whole(folder / NAME, text.encode("ascii"))
    return found


def read_prices(folder: Path) -> RunPrices | None:
    """The prices that `write_prices` wrote; None where there are none. AuditError where the file is no such thing."""
    path = folder / NAME
    try:
        said = json.loads(read_regular(path, _MOST_BYTES))
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError):
        said = None
    match said:
        case {
            "schema": "audit-prices/1",
            "usd_per_core_hour": core,
            "usd_per_mem_gib_hour": mem,
            "usd_per_gpu_hour": dict() as gpus,
            "reasons": dict() as reasons,
            "source": dict() as source,
        } if all(map(_is_price, (core, mem, *gpus.values()))) and _are_texts({**reasons, **source}):
            return RunPrices(core, mem, gpus, reasons, source)
    raise damaged(path, "is no list of prices")


def _is_price(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9)


def _are_texts(values: dict[str, object]) -> bool:
    return all(isinstance(value, str) for value in values.values())
