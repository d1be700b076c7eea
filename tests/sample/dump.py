"""Reads a generated month back with nothing but splits, so that the tests do not lean on the readers."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from audit.sample import SampleSummary

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def size_bytes(text: str) -> int | None:
    """`62.50G` in bytes; bare numbers are bytes; nothing is None."""
    if not text:
        return None
    return int(float(text[:-1]) * UNITS[text[-1]]) if text[-1] in UNITS else int(text)


def hosts(text: str) -> list[str]:
    """The nodes of `a007` or `c[001-003,007]`."""
    if "[" not in text:
        return [text]
    prefix, spans = text[:-1].split("[")
    bounds = [span.split("-") for span in spans.split(",")]
    return [f"{prefix}{n:03d}" for b in bounds for n in range(int(b[0]), int(b[-1]) + 1)]


@dataclass(frozen=True)
class Month:
    """One generated month: where it lies, and its tables."""

    evidence: Path
    truth_folder: Path
    summary: SampleSummary

    @cached_property
    def rows(self) -> list[list[str]]:
        """Every line of every day, split at the delimiter; headers left out."""
        files = sorted(self.evidence.glob("sacct-*.txt"))
        texts = [path.read_text(encoding="utf-8").splitlines()[1:] for path in files]
        return [line.split("\x1f") for text in texts for line in text]

    @cached_property
    def header(self) -> list[str]:
        path = min(self.evidence.glob("sacct-*.txt"))
        return path.read_text(encoding="utf-8").splitlines()[0].split("\x1f")

    @cached_property
    def sacct(self) -> pl.DataFrame:
        frame = pl.DataFrame(self.rows, schema=self.header, orient="row")
        number = [pl.col(name).cast(pl.Int64, strict=False) for name in ("Submit", "Eligible", "Start", "End")]
        return frame.with_columns(
            *number,
            pl.col("ElapsedRaw").cast(pl.Int64),
            start_text="Start",
            state=pl.col("State").str.split(" ").list.first(),
            asked_bytes=pl.col("ReqMem").map_elements(size_bytes, return_dtype=pl.Int64),
            gpus=pl.col("AllocTRES").str.extract(r"gres/gpu=(\d+)").cast(pl.Int64).fill_null(0),
        )

    @cached_property
    def jobs(self) -> pl.DataFrame:
        """The job rows."""
        return self.sacct.filter(~pl.col("JobIDRaw").str.contains(".", literal=True))

    @cached_property
    def steps(self) -> pl.DataFrame:
        """The step rows, with the job they belong to (`raw`), the step's name, and its summed peak."""
        parts = pl.col("JobIDRaw").str.splitn(".", 2)
        total = pl.col("TRESUsageInTot").str.extract(r"mem=([^,]+)")
        return self.sacct.filter(pl.col("JobIDRaw").str.contains(".", literal=True)).with_columns(
            raw=parts.struct.field("field_0"),
            step=parts.struct.field("field_1"),
            total_bytes=total.map_elements(size_bytes, return_dtype=pl.Int64),
        )

    @cached_property
    def held(self) -> pl.DataFrame:
        """Attempts that ran, one row a node: what each held there and from when to when."""
        end = int(self.summary.window_to.timestamp())
        per_node = pl.col("NNodes").cast(pl.Int64)
        return (
            self.jobs.filter(pl.col("Start").is_not_null())
            .select(
                "JobID",
                "JobIDRaw",
                "Submit",
                "state",
                "Start",
                "AdminComment",
                End=pl.col("End").fill_null(end),
                cores=pl.col("AllocCPUS").cast(pl.Int64) // per_node,
                mem=pl.col("asked_bytes") // per_node,
                gpus=pl.col("gpus") // per_node,
                node=pl.col("NodeList").map_elements(hosts, return_dtype=pl.List(pl.String)),
            )
            .explode("node")
        )

    @cached_property
    def nodes(self) -> pl.DataFrame:
        """Node sizes from the inventory."""
        found = []
        for line in (self.evidence / "nodes.txt").read_text(encoding="utf-8").splitlines():
            fields = dict(re.findall(r"(\w+)=(\S*)", line))
            cards = re.search(r"gpu:\w+:(\d+)", fields["Gres"])
            size = int(fields["CPUTot"]), int(fields["RealMemory"]) << 20, int(cards[1]) if cards else 0
            found.append((fields["NodeName"], *size, fields["Partitions"]))
        return pl.DataFrame(found, schema=["node", "size_cores", "size_mem", "size_gpus", "partitions"], orient="row")

    @cached_property
    def events(self) -> pl.DataFrame:
        """Node events; an open one ends with the window."""
        lines = (self.evidence / "node_events.txt").read_text(encoding="utf-8").splitlines()
        frame = pl.DataFrame([row.split("|") for row in lines[1:]], schema=lines[0].split("|"), orient="row")
        end = int(self.summary.window_to.timestamp())
        until = pl.col("TimeEnd").cast(pl.Int64, strict=False).fill_null(end)
        return frame.select("State", node="NodeName", down=pl.col("TimeStart").cast(pl.Int64), up=until)

    @cached_property
    def truth(self) -> pl.DataFrame:
        return pl.read_parquet(self.truth_folder / "attempts.parquet")

    @cached_property
    def known(self) -> pl.DataFrame:
        """Job rows beside their truth."""
        return self.jobs.join(self.truth, left_on=["JobIDRaw", "Submit"], right_on=["job_id_raw", "submit"])
