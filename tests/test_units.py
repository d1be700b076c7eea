"""Slurm's text to numbers: each odd form that was met is one row."""

import polars as pl
import pytest

from audit import units
from tests.dumps import texts

GIB = 2**30


@pytest.mark.parametrize(
    ("text", "nodes", "cores", "expected"),
    [
        ("1.50T", 1, 1, 1649267441664),
        ("2P", 1, 1, 2251799813685248),
        ("16384M", 1, 1, 16 * GIB),
        ("4000Mc", 1, 8, 33554432000),
        ("16Gn", 3, 24, 48 * GIB),
        ("200000.50K", 1, 1, 204800512),
        ("1Me", 1, 1, 2**20),
        ("0n", 1, 64, None),
        ("?", 1, 1, None),
        ("", 1, 1, None),
        ("18446744073709551614", 1, 1, None),
        ("2147486448Mn", 2, 12, 12 * 2800 * 2**20),  # bit 31 says per core, though the suffix says per node
        ("2147486448M", 2, 12, 12 * 2800 * 2**20),
        ("8g", 1, 1, 8 * GIB),
        ("1.5gc", 1, 4, 6 * GIB),
        ("4294967294Mn", 1, 1, None),
        ("4294967295M", 1, 1, None),
        ("9223372036854778608M", 1, 4, 4 * 2800 * 2**20),  # the same flag, 64 bits wide
    ],
)
def test_what_was_asked_of_memory(text: str, nodes: int, cores: int, expected: int | None) -> None:
    found = units.req_mem_bytes(texts(text), pl.Series([float(nodes)]), pl.Series([float(cores)]))
    assert found.to_list() == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("105212K", 107737088),
        ("85399.46K", 87449047),
        ("53386581", 53386581),
        ("0", 0),
        ("1.50T", 1649267441664),
        ("18446744073709551615", None),
        ("9223372036854775794", None),
        ("4294967295M", None),
        ("1.5X", None),
        ("-5", None),
        (None, None),
    ],
)
def test_sizes(text: str | None, expected: int | None) -> None:
    assert units.mem_bytes(texts(text)).to_list() == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("00:37.125", 37.125),
        ("02:03.500", 123.5),
        ("1-02:03:04", 93784),
        ("321-06:00:24", 27756024),
        ("100-00:00:00", 8640000),
        ("00:00:00", 0),
        ("1-00:00:00.250", 86400.25),
        ("3600", 3600),
        ("1-02:03", 93780),
        ("2-05", 190800),
        ("UNLIMITED", None),
        ("Partition_Limit", None),
        ("Partition_limit", None),
        ("INVALID", None),
        ("", None),
        ("-00:00:16", None),
        ("213503982334-14:25:51", None),  # AveCPU of a 26.05 .extern
    ],
)
def test_durations(text: str, expected: float | None) -> None:
    assert units.duration_s(texts(text)).to_list() == [expected]


@pytest.mark.parametrize(
    ("tres", "gpus", "shards"),
    [
        ("cpu=4,gres/gpu:a100=2,gres/gpu=2,mem=8G", 2, 0),  # typed and untyped are the same two
        ("gres/gpu:volta=2,mem=125G,node=1", 2, 0),
        ("gres/gpu=4,gres/gpu:a100=1,gres/gpu:v100=2", 4, 0),  # one more of a type that is not tracked
        ("cpu=4,mem=8G", 0, 0),
        ("gres/gpu:a100_3g.20gb=2,gres/gpu=2", 1, 0),  # half of a 40 GB card's memory each
        ("gres/gpu:a100_1g.5gb=7", 1, 0),
        ("gres/gpu:a30_1g.6gb=2", 0.5, 0),  # an A30 has four slices
        ("gres/gpu:h100_7g.80gb=1", 1, 0),
        ("gres/gpu:1g.5gb=7", 1, 0),
        ("gres/gpu:mig-1g.10gb+me=7", 1, 0),
        ("gres/gpu:a100_1g.20gb=4", 1, 0),  # two of eight slices of an 80 GB card's memory
        ("gres/gpu:1g.35gb=2,gres/gpu:2g.12gb=1", 1, 0),
        ("gres/gpu=4294967294", None, None),
        ("gres/shard=4", 0, 4),
        ("gres/gpuutil=40,gres/gpumem=10G,gres/gpu=1", 1, 0),
        (None, None, None),
    ],
)
def test_gpus_in_whole_cards(tres: str | None, gpus: float | None, shards: float | None) -> None:
    found = units.gres(texts(tres))
    assert (found["gpus"][0], found["shards"][0]) == (
        pytest.approx(gpus) if gpus is not None else None,
        shards,
    )


@pytest.mark.parametrize(
    ("text", "gpus", "shards", "gres"),
    [
        ("gpu:a100:4(S:0-1)", 4, 0, "gpu:a100=4"),
        ("gpu:a100:4(S:0,1),shard:a100:16(S:0,1)", 4, 16, "gpu:a100=4,shard:a100=16"),
        ("gpu:2", 2, 0, "gpu=2"),
        ("gpu:a100:no_consume:4", 4, 0, "gpu:a100=4"),
        ("gpu:a100:2,gpu:v100:1", 3, 0, "gpu:a100=2,gpu:v100=1"),
        ("(null)", 0, 0, ""),
        (None, 0, 0, ""),
    ],
)
def test_gres_of_a_node(text: str | None, gpus: float, shards: float, gres: str) -> None:
    assert units.node_gres(text) == {"gpus": gpus, "shards": shards, "gres": gres}


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        ("5-10%2", 6),
        ("1,3,7-9", 5),
        ("0-4:2", 3),
        ("7", 1),
        ("0-99,...", None),
        ("9-1", None),
        ("1-" + "9" * 5000, None),
    ],
)
def test_pending_tasks_in_one_row(text: str, tasks: int | None) -> None:
    assert units.array_tasks(text) == tasks


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("d13n[03,05,07-08,16]", ("d13n03", "d13n05", "d13n07", "d13n08", "d13n16")),
        ("f13-03-[01-02],f15-27", ("f13-03-01", "f13-03-02", "f15-27")),
        ("r[1-2]n[1-2]", ("r1n1", "r1n2", "r2n1", "r2n2")),
        ("n[099-101]", ("n099", "n100", "n101")),
        ("n1,n1", ("n1",)),
        ("None assigned", ()),
        ("(null)", ()),
        ("n[1-99999999999]", ()),  # no cluster: a hostile list must not fill the memory
        ("n[" + "9" * 5000 + "-1]", ("n" + "9" * 5000 + "-1",)),
        (None, ()),
    ],
)
def test_host_lists(text: str | None, nodes: tuple[str, ...]) -> None:
    assert units.hosts(text) == nodes


def test_values_that_repeat_read_as_they_do_alone() -> None:
    many = texts(*["1G", "2G", None, "?"] * 1000)
    assert units.mem_bytes(many).to_list() == [GIB, 2 * GIB, None, None] * 1000
