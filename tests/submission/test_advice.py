"""Advice as options: in the form in which the submission asked, and never less than what was advised."""

import io
import json
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.submission import Request, advised_options, from_command, from_job, from_json
from tests.submission.scripts import typed

GIB = 2**30
MIB = 2**20


@pytest.mark.parametrize(
    ("asked", "advice", "options"),
    [
        # memory: rounded up to MiB, whole GiB where it is
        ("--mem=64G", {"mem_bytes": 20 * GIB}, ["--mem=20G"]),
        ("--mem=64G", {"mem_bytes": 20 * GIB + 1}, ["--mem=20481M"]),
        ("--mem=64G -N 2", {"mem_bytes": 20 * GIB}, ["--mem=10G"]),
        ("--mem=64G", {"mem_bytes": 0}, ["--mem=1M"]),  # --mem=0 would be the whole node
        ("--mem=0", {"mem_bytes": 20 * GIB}, ["--mem=20G"]),
        ("-c 4", {"mem_bytes": 20 * GIB}, ["--mem=20G"]),
        ("-n 4", {"mem_bytes": 20 * GIB}, ["--mem-per-cpu=5G"]),  # Slurm may spread the tasks over nodes
        ("--mem-per-cpu=4G -c 6", {"mem_bytes": 10 * GIB}, ["--mem-per-cpu=1707M"]),  # 10240 / 6 = 1706.7
        ("--mem-per-gpu=64G -G 2", {"mem_bytes": 10 * GIB}, ["--mem-per-gpu=5G"]),
        ("--mem=4G", {"mem_bytes": 4 * GIB}, []),  # nothing would change
        ("--mem=4G", {"mem_bytes": 4 * GIB - 5}, []),
        ("--mem-per-cpu=4G -c x", {"mem_bytes": 4 * GIB}, []),
        # cores
        ("-c 16", {"cores": 5}, ["--cpus-per-task=5"]),
        ("-n 4 -c 8", {"cores": 13}, ["--cpus-per-task=4"]),  # 13 / 4, rounded up
        ("-n 4 -c 8", {"cores": 31}, []),  # 31 / 4, rounded up, is what was asked for
        ("-n 8", {"cores": 5}, ["--ntasks=5"]),
        ("-n 8 -c 1", {"cores": 5}, ["--ntasks=5"]),
        ("-N 2 -n 8", {"cores": 5}, ["--ntasks=6"]),  # a whole number on each node
        ("-N 2 --ntasks-per-node=8", {"cores": 5}, ["--ntasks-per-node=3"]),
        ("-N 2", {"cores": 5}, ["--cpus-per-task=3"]),
        ("-G 4 --cpus-per-gpu=8", {"cores": 9}, ["--cpus-per-gpu=3"]),
        ("-n 8 --gpus-per-task=1", {"cores": 5}, []),  # fewer tasks would be fewer GPUs
        ("-n 8 --ntasks-per-node=4", {"cores": 5}, []),
        ("--mincpus=16 -c 16", {"cores": 5}, ["--mincpus=5", "--cpus-per-task=5"]),
        # fewer cores leave the memory what it was
        ("-c 8 --mem-per-cpu=2G", {"cores": 4}, ["--cpus-per-task=4", "--mem-per-cpu=4G"]),
        ("-c 8 --mem-per-cpu=2G", {"cores": 4, "mem_bytes": 8 * GIB}, ["--cpus-per-task=4"]),
        ("-c 8 --mem-per-cpu=2G", {"cores": 4, "mem_bytes": 6 * GIB}, ["--cpus-per-task=4", "--mem-per-cpu=1536M"]),
        # GPUs keep their form, their type, and what stands beside them
        ("--gres=gpu:4", {"gpus": 2}, ["--gres=gpu:2"]),
        ("--gres=gpu:a100:4", {"gpus": 1}, ["--gres=gpu:a100:1"]),
        ("--gres=gpu:a100:4,craynetwork:1 -N 2", {"gpus": 3}, ["--gres=craynetwork:1,gpu:a100:2"]),
        ("--gres=gpu:a100:4", {"gpus": 0}, ["--gres=none"]),
        ("--gres=shard:2,gpu:4", {"gpus": 0}, ["--gres=shard:2"]),
        ("--gres=gpu:a100_3g.20gb:4", {"gpus": 1.5}, ["--gres=gpu:a100_3g.20gb:3"]),  # half a card each
        ("-G h100:8", {"gpus": 3}, ["--gpus=h100:3"]),
        ("-G 8", {"gpus": 0}, ["--gpus=0"]),
        ("--gpus-per-node=4 -N 2", {"gpus": 3}, ["--gpus-per-node=2"]),
        ("--gpus-per-task=2 -n 4", {"gpus": 4}, ["--gpus-per-task=1"]),
        ("--gpus-per-socket=2 --sockets-per-node=2", {"gpus": 2}, ["--gpus-per-socket=1"]),
        ("--gres=gpu:a100:2,gpu:h100:2", {"gpus": 2}, []),  # which of them is not ours to say
        ("-G 8 --gpus-per-node=4", {"gpus": 4}, []),
        ("--gres=gpu:x:y", {"gpus": 1}, []),
        ("-G 4 --ntasks-per-gpu=2", {"gpus": 2}, []),  # the tasks hang on the GPUs
        ("--gres=gpu:4 --cpus-per-gpu=4", {"gpus": 2}, ["--gres=gpu:2", "--cpus-per-gpu=8"]),
        # time
        ("-t 1-0", {"time_limit_s": 5400}, ["--time=0-01:30:00"]),
        ("-t 1-0", {"time_limit_s": 5401}, ["--time=0-01:31:00"]),
        ("", {"time_limit_s": 93784}, ["--time=1-02:04:00"]),  # 26 h 3 min 4 s
        ("-t 5", {"time_limit_s": 0}, ["--time=0-00:01:00"]),
        ("-t 5", {"time_limit_s": 270}, []),
        ("-t 5", {}, []),
    ],
)
def test_the_form_is_the_submissions_own(asked: str, advice: dict[str, float], options: list[str]) -> None:
    assert advised_options(typed(*asked.split()), **advice) == options


def test_options_of_a_job_without_a_script() -> None:
    found = from_job("cpus=8,mem=16G,gpus=a100:4,time=1-0,nodes=2").requests[0]
    assert advised_options(found, mem_bytes=8 * GIB, cores=4, gpus=2, time_limit_s=60) == [
        "--gpus=a100:2",
        "--cpus-per-task=2",
        "--mem=4G",
        "--time=0-00:01:00",
    ]
    found = from_json(io.BytesIO(json.dumps({"cores": 8, "mem_bytes": 16 * GIB}).encode())).requests[0]
    assert advised_options(found, mem_bytes=8 * GIB, cores=4) == ["--cpus-per-task=4", "--mem=8G"]


SIZES = st.sampled_from(["0", "100", "1G", "3G", "7T", "1025K", "x"])
COUNTS = st.sampled_from(["1", "2", "3", "7", "64", "x"])
CARDS = st.sampled_from(["0", "1", "3", "a100:2", "a100_3g.20gb:3", "a100:1,h100:2", "x:y"])
GRES = st.sampled_from(["none", "gpu", "gpu:3", "gpu:a100:2,shard:4", "gpu:a100_2g.10gb:3", "gpu:a:b", "nic:1"])
OPTION = st.one_of(
    st.tuples(st.sampled_from(["--mem", "--mem-per-cpu", "--mem-per-gpu"]), SIZES),
    st.tuples(
        st.sampled_from(["-n", "-c", "--ntasks-per-node", "--mincpus", "--cpus-per-gpu", "--ntasks-per-gpu"]), COUNTS
    ),
    st.tuples(st.just("-N"), st.sampled_from(["1", "2", "3-5", "x"])),
    st.tuples(st.sampled_from(["--gpus", "--gpus-per-node", "--gpus-per-task", "--gpus-per-socket"]), CARDS),
    st.tuples(st.just("--sockets-per-node"), COUNTS),
    st.tuples(st.just("--gres"), GRES),
    st.tuples(st.just("--tres-per-task"), st.sampled_from(["cpu=3", "cpu:2,gres/gpu=1"])),
    st.tuples(st.just("-t"), st.sampled_from(["5", "1-0", "UNLIMITED", "x"])),
)
AMOUNTS = ("mem_bytes", "cores", "gpus", "time_limit_s")
ADVICE = st.fixed_dictionaries(
    {
        "mem_bytes": st.none() | st.integers(0, 2**45),
        "cores": st.none() | st.floats(0.01, 5000),
        "gpus": st.none() | st.floats(0, 64),
        "time_limit_s": st.none() | st.floats(0, 1e8),
    }
)


def amounts(request: Request) -> dict[str, float | None]:
    return {name: getattr(request, name) for name in AMOUNTS}


@settings(deadline=None, max_examples=500)
@given(st.lists(OPTION, max_size=6), ADVICE)
def test_read_back_it_asks_for_at_least_what_was_advised(
    asked: list[tuple[str, str]], advice: dict[str, float | None]
) -> None:
    words = [word for option in asked for word in option]
    before = typed(*words)
    advised = advised_options(before, **advice)
    after = typed(*words, *shlex.split(" ".join(advised)))
    for name, was in amounts(before).items():
        wanted, now = advice[name], getattr(after, name)
        if wanted is None:  # nothing was advised: what is known to be asked for stays
            assert was is None or (now is not None and now >= was * (1 - 1e-9))
        elif now is None:  # unlimited, or as unreadable as before
            assert was is None or name == "time_limit_s"
        else:
            assert now >= wanted * (1 - 1e-9) or now == was


@settings(deadline=None)
@given(
    st.sampled_from(["--mem=9G", "--mem-per-cpu=3G", "--mem-per-gpu=5G"]),
    st.sampled_from(["--gres=gpu:a100:7", "-G 9", "--gpus-per-node=5"]),
    st.sampled_from(["-c 7", "-n 9", "-N 3 -n 9", "-N 3 -c 5", "-n 3 -c 5"]),
    st.integers(1, 2**45),
    st.integers(1, 500),
    st.integers(1, 64),
    st.floats(1, 1e8),
)
def test_where_each_is_said_in_one_way_all_of_the_advice_is_taken(
    mem: str, gpus: str, tasks: str, mem_bytes: int, cores: int, cards: int, seconds: float
) -> None:
    words = [*mem.split(), *gpus.split(), *tasks.split()]
    advised = advised_options(typed(*words), mem_bytes=mem_bytes, cores=cores, gpus=cards, time_limit_s=seconds)
    after = typed(*words, *shlex.split(" ".join(advised)))
    found = amounts(after)
    assert all(found[name] is not None for name in AMOUNTS)
    nodes, parts = after.nodes or 1, max(after.cores or 1, after.gpus or 1)
    # no less, and no more than rounding up each part by one makes
    assert mem_bytes <= found["mem_bytes"] <= mem_bytes + parts * MIB
    assert cores <= found["cores"] < cores + max(after.tasks or 1, nodes)
    assert cards <= found["gpus"] < cards + nodes
    assert seconds <= found["time_limit_s"] < seconds + 60


def test_what_is_typed_is_quoted_for_a_shell() -> None:
    hostile = "gpu:$(touch /tmp/x):4"
    assert advised_options(typed("--gres", hostile), gpus=1) == []
    assert advised_options(from_command(["--mem=4G", "-J", "a b;c"]).requests[0], mem_bytes=1) == ["--mem=1M"]
