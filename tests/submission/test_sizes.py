"""How much is asked for: each form of memory, time, tasks, GPUs and arrays is one row."""

import pytest

from tests.submission.scripts import request, typed

GIB = 2**30
MIB = 2**20


@pytest.mark.parametrize(
    ("text", "mib"),
    [
        ("4G", 4096),
        ("4g", 4096),
        ("4GB", 4096),
        ("100", 100),
        ("100M", 100),
        ("2T", 2097152),
        ("1024K", 1),
        ("1025K", 2),  # part of a MiB is one
        ("5000000", 5000000),
        ("1.5G", None),
        ("1GiB", None),
        ("1B", None),
        ("-1", None),
        ("1e3", None),
        ("1" + "0" * 30, None),
        ("4 G", None),
        ("UNLIMITED", None),
        ("٤G", None),
        ("", None),
        ("0", None),
    ],
)
def test_memory(text: str, mib: int | None) -> None:
    found = typed(f"--mem={text}")
    assert found.mem_bytes == (mib * MIB if mib else None)
    assert found.whole_node_mem == (text == "0")


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("5", 5),
        ("05", 5),
        ("5:30", 6),  # Slurm counts in minutes, rounded up
        ("0:0:1", 1),
        ("1:2:3", 63),
        ("30:70:90", 1872),
        ("2-3", 51 * 60),
        ("2-3:4", 51 * 60 + 4),
        ("2-3:4:5", 51 * 60 + 5),
        ("1-", 1440),
        ("1-30", 54 * 60),
        ("UNLIMITED", None),
        ("Infinite", None),
        ("-1", None),
        ("0", None),
        ("0-0", None),
        ("1h", None),
        ("90m", None),
        ("1.5", None),
        ("1:2:3:4", None),
        ("5:", None),
        ("1--2", None),
        ("-5", None),
        ("1" + "0" * 30, None),
        ("", None),
    ],
)
def test_time(text: str, minutes: int | None) -> None:
    assert typed(f"--time={text}").time_limit_s == (minutes * 60 if minutes else None)


@pytest.mark.parametrize(
    ("options", "nodes", "tasks", "cores"),
    [
        ("", 1, 1, 1),  # Slurm's defaults: a task, a core
        ("-c 4", 1, 1, 4),
        ("-n 4", None, 4, 4),  # Slurm may spread the tasks
        ("-n 4 -c 2", None, 4, 8),
        ("-N 2", 2, 2, 2),  # a task a node
        ("-N 2-4 -c 3", 2, 2, 6),  # the fewest that would do
        ("-N 2k", 2048, 2048, 2048),
        ("-N 2,4,8", 2, 2, 2),
        ("-N 2-8:2", 2, 2, 2),
        ("-N 2 -n 10", 2, 10, 10),
        ("-N 4 -n 2", 2, 2, 2),  # no node without a task
        ("-N 2 --ntasks-per-node=3 -c 2", 2, 6, 12),
        ("--ntasks-per-node=3", 1, 3, 3),
        ("-n 8 --ntasks-per-node=3", 3, 8, 8),
        ("-N 2 -n 2 --mincpus=8", 2, 2, 16),
        ("-N 2 --tres-per-task=cpu=4,gres/gpu:a100=1", 2, 2, 8),
        ("-G 4 --cpus-per-gpu=6", None, 1, 24),
        ("-n 4 --ntasks-per-gpu=2", None, 4, 4),
        ("-G 2 --ntasks-per-gpu=3", None, 6, 6),
        ("--ntasks-per-gpu=3", None, 1, 1),
        ("-G 8 --gpus-per-node=4", 2, 2, 2),
        ("-G 8 --gpus-per-task=2", None, 4, 4),
        ("-n 0", 1, None, None),
        ("-n 4x", 1, None, None),
        ("-c -3", 1, 1, None),
        ("-c=4", 1, 1, None),  # the value is "=4" to sbatch
        ("-N 4-2", None, None, None),
        ("-N 0", None, None, None),
        ("-n 99999999999999999999", 1, None, None),
    ],
)
def test_nodes_tasks_and_cores(options: str, nodes: int | None, tasks: int | None, cores: int | None) -> None:
    found = typed(*options.split())
    assert (found.tasks, found.cores) == (tasks, cores)
    if tasks is not None:
        assert found.nodes == nodes


@pytest.mark.parametrize(
    ("options", "gib"),
    [
        ("--mem=4G -N 3", 12),
        ("--mem=4G -n 3", 4),  # how many nodes is not said: one is reckoned with
        ("--mem-per-cpu=2G -n 4 -c 2", 16),
        ("--mem-per-cpu=2G -N 2", 4),
        ("--mem-per-gpu=8G -G 3", 24),
        ("--mem-per-gpu=8G --gres=gpu:2 -N 2", 32),
        ("--mem-per-gpu=8G", None),
        ("--mem-per-cpu=2G -c x", None),
        ("--mem=4G -N x", None),
        ("--mem=4G --mem-per-cpu=1G -c 2", 2),  # sbatch refuses both: the last one said is taken
        ("--mem-per-cpu=1G --mem=4G -c 2", 4),
        ("--mem=1G --mem-per-cpu=1G --mem=4G -c 2", 4),
        ("--mem-per-cpu=0 -c 2", None),
        ("--mem=1000T -N 2000000000", None),  # more than there is
    ],
)
def test_memory_in_total(options: str, gib: int | None) -> None:
    assert typed(*options.split()).mem_bytes == (gib * GIB if gib else None)


@pytest.mark.parametrize(
    ("options", "gpus", "card", "shards"),
    [
        ("", 0, None, 0),
        ("--gres=gpu:2", 2, None, 0),
        ("--gres=gpu", 1, None, 0),
        ("--gres=gpu:a100:2 -N 2", 4, "a100", 0),
        ("--gres=gpu:a100", 1, "a100", 0),
        ("--gres=gpu=2", 2, None, 0),
        ("--gres=gpu:a100=2", 2, "a100", 0),
        ("--gres=gres/gpu:2", 2, None, 0),
        ("--gres=gres:gpu:2", 2, None, 0),
        ("--gres=gpu:1080ti:3", 3, "1080ti", 0),
        ("--gres=gpu:a100:2,shard:4 -N 2", 4, "a100", 8),
        ("--gres=shard:4", 0, None, 4),
        ("--gres=mps:1k", 0, None, 1024),
        ("--gres=lustre:1", 0, None, 0),
        ("--gres=none", 0, None, 0),
        ("--gres=gpu:0", 0, None, 0),
        ("--gres=gpu:a100:1,gpu:h100:2", 3, "h100", 0),
        ("--gres=gpu:a100_3g.20gb:2", 1, "a100_3g.20gb", 0),  # an instance is half a card: half of its memory
        ("--gres=gpu:1 --gres=shard:2", 0, None, 2),  # the last word counts
        ("--gpus=4", 4, None, 0),
        ("-G a100:2", 2, "a100", 0),
        ("-G a100:2,h100:1", 3, "a100", 0),
        ("--gpus-per-node=a100:2 -N 3", 6, "a100", 0),
        ("--gpus-per-task=2 -n 3", 6, None, 0),
        ("--gpus-per-socket=2 --sockets-per-node=2 -N 2", 8, None, 0),
        ("--gpus-per-socket=2", None, None, 0),
        ("--gpus=2 --gres=gpu:1", 2, None, 0),
        ("--tres-per-task=gres/gpu:a100=2 -n 2", 4, "a100", 0),
        ("-n 5 --ntasks-per-gpu=2", 3, None, 0),
        ("--gres=gpu:-1", None, None, None),
        ("--gres=gpu:a:b", None, None, None),
        ("--gres=gpu:1" + "0" * 30, None, None, None),
        ("--gres=gpu:2,", None, None, None),
        ("--gres=gpu:$(reboot):2", None, None, None),
        ("-G a100:2:3", None, None, 0),
        ("--gpus-per-node=2 -N x", None, None, 0),
    ],
)
def test_gpus(options: str, gpus: float | None, card: str | None, shards: float | None) -> None:
    found = typed(*options.split())
    assert (found.gpus, found.gpu_type, found.shards) == (gpus, card, shards)


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        ("1-100", 100),
        ("7", 1),
        ("0-2", 3),
        ("1-100%5,200,1-10:2", 101),  # 1, 3, 5, 7, 9 are among 1-100
        ("1-10:3,5", 5),  # 1 4 7 10 and 5
        ("[1-3]", 3),
        ("1,1,1", 1),
        ("0-4000000", 4000001),
        ("1-4000000000", None),
        (",".join(["0-3999999"] * 1000), None),
        ("5-1", None),
        ("1-10:0", None),
        ("x", None),
        ("", None),
        ("1-3%x", None),
        ("-3", None),
    ],
)
def test_arrays(text: str, tasks: int | None) -> None:
    assert typed(f"--array={text}").array_tasks == tasks


@pytest.mark.parametrize(
    ("options", "exclusive"),
    [
        ("--exclusive", True),
        ("--exclusive=user", False),  # shares a node with the same user's jobs
        ("--exclusive=mcs", False),
        ("--exclusive --oversubscribe", False),
        ("-s --exclusive", True),
        ("", False),
    ],
)
def test_whole_nodes(options: str, exclusive: bool) -> None:
    assert request(options).exclusive == exclusive
