"""Numbers in the spellings of `sacct -P`, as polars expressions."""

import polars as pl


def exact_mib(mib: pl.Expr) -> pl.Expr:
    """Requested memory: the largest unit that loses nothing, halves allowed (`16000M`, `62.50G`, `1T`)."""
    text = pl.format("{}M", mib)
    for unit, letter in ((1024, "G"), (1024 * 1024, "T")):
        whole = pl.when(mib % unit == 0).then(pl.lit("")).otherwise(pl.lit(".50"))
        fits = (mib >= unit) & (mib % (unit // 2) == 0)
        text = pl.when(fits).then(pl.format("{}{}{}", mib // unit, whole, pl.lit(letter))).otherwise(text)
    return text


def resident(size_bytes: pl.Expr) -> pl.Expr:
    """Measured memory: `105212K`; bare bytes where kibibytes would lose some; `0`."""
    whole = (size_bytes >= 1024) & (size_bytes % 1024 == 0)
    return pl.when(whole).then(pl.format("{}K", size_bytes // 1024)).otherwise(size_bytes.cast(pl.String))


def _two(number: pl.Expr) -> pl.Expr:
    return number.cast(pl.String).str.zfill(2)


def clock(seconds: pl.Expr) -> pl.Expr:
    """`HH:MM:SS`, from a day on `D-HH:MM:SS`."""
    day = pl.when(seconds >= 86400).then(pl.format("{}-", seconds // 86400)).otherwise(pl.lit(""))
    return pl.format(
        "{}{}:{}:{}",
        day,
        _two(seconds % 86400 // 3600),
        _two(seconds % 3600 // 60),
        _two(seconds % 60),
    )


def cpu_time(milliseconds: pl.Expr) -> pl.Expr:
    """TotalCPU: `MM:SS.mmm` below an hour, then as `clock`; nothing at all is `00:00:00`."""
    seconds = milliseconds // 1000
    short = pl.format(
        "{}:{}.{}",
        _two(seconds // 60),
        _two(seconds % 60),
        (milliseconds % 1000).cast(pl.String).str.zfill(3),
    )
    return (
        pl.when(milliseconds == 0).then(pl.lit("00:00:00")).when(seconds < 3600).then(short).otherwise(clock(seconds))
    )


def tres(cores: str, gpu_type: str, gpus: str, mem_mib: str, nodes: str, *, billing: bool = True) -> pl.Expr:
    """A TRES list of the named columns; typed GPUs appear twice, untyped once, as Slurm has it."""
    typed = pl.format("gres/gpu:{}={},", pl.col(gpu_type), pl.col(gpus))
    return pl.concat_str(
        pl.format("billing={},", pl.col(cores)) if billing else pl.lit(""),
        pl.format("cpu={},", pl.col(cores)),
        pl.when((pl.col(gpus) > 0) & (pl.col(gpu_type) != "")).then(typed).otherwise(pl.lit("")),
        pl.when(pl.col(gpus) > 0).then(pl.format("gres/gpu={},", pl.col(gpus))).otherwise(pl.lit("")),
        pl.format("mem={},node={}", exact_mib(pl.col(mem_mib)), pl.col(nodes)),
    )


def or_unknown(epoch: str) -> pl.Expr:
    """An epoch, `Unknown` where it has not come."""
    return pl.col(epoch).cast(pl.String).fill_null("Unknown")
