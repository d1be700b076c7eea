"""A job said without a script: `--job` text and JSON."""

import io
import json

import pytest

from audit.errors import UsageError
from audit.submission import Request, Submission, from_job, from_json

GIB = 2**30


def of_json(document: object) -> Submission:
    return from_json(io.BytesIO(json.dumps(document).encode()))


def said(found: Request) -> dict[str, object]:
    """What a request says, its options and what has its default apart."""
    given = {name: getattr(found, name) for name in found.__dataclass_fields__ if name != "options"}
    return {name: value for name, value in given.items() if value not in (None, False, 0)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "user=ada,account=phys,name=solve,cpus=8,mem=16G,time=1-0,gpus=a100:2",
            {"user": "ada", "account": "phys", "job_name": "solve", "cores": 8, "mem_bytes": 16 * GIB}
            | {"time_limit_s": 86400, "gpus": 2, "gpu_type": "a100"},
        ),
        ("user=ada,nodes=2,ntasks=4,mem=1G", {"user": "ada", "nodes": 2, "tasks": 4, "mem_bytes": 2 * GIB}),
        ("user=ada,name='a,b',array=\"1-3,7\"", {"user": "ada", "job_name": "a,b", "array_tasks": 4}),
        ("user=ada, name=two words , partition=gpu", {"user": "ada", "job_name": "two words", "partition": "gpu"}),
        (r"user=ada,name=a\,b#c", {"user": "ada", "job_name": "a,b#c"}),
        ("user=ada,name==x", {"user": "ada", "job_name": "=x"}),
        ("user=ada,gpus=1,time=UNLIMITED", {"user": "ada", "gpus": 1}),
    ],
)
def test_job_text(text: str, expected: dict[str, object]) -> None:
    found = from_job(text)
    assert said(found.requests[0]) == expected
    assert (found.source, found.warnings) == ("job", ())


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",,",
        "cpus",
        "cpus=4,memory=2G",
        "cpus=0",
        "cpus=4x",
        "mem=1.5G",
        "time=1h",
        "gpus=a100:2,h100:1",
        "gpus='a100:2,h100:1'",
        "array=5-1",
        "cpus=1,cpus=2",
        "name='open",
        "cpus=1" + "0" * 30,
        "nodes=4-2",
        "gpus=$(reboot):2",
    ],
)
def test_job_text_that_cannot_be_read_is_one_line(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        from_job(text)
    assert str(caught.value).startswith("--job: ")


def test_an_unknown_key_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="account, array, constraint, cpus, gpus, mem, name, nodes, ntasks"):
        from_job("memory=2G")


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            {"user": "ada", "job_name": "solve", "nodes": 2, "tasks": 4, "cores": 8, "mem_bytes": 3 * GIB + 1}
            | {"time_limit_s": 90.5, "gpus": 2, "gpu_type": "a100", "array_tasks": 3, "exclusive": True},
            {"user": "ada", "job_name": "solve", "nodes": 2, "tasks": 4, "cores": 8, "mem_bytes": 3 * GIB + 1}
            | {"time_limit_s": 90.5, "gpus": 2, "gpu_type": "a100", "array_tasks": 3, "exclusive": True},
        ),
        ({"name": "x", "cpus": 4.0, "mem": "2G", "time": "5:30"}, {"job_name": "x", "cores": 4, "mem_bytes": 2 * GIB, "time_limit_s": 360}),
        ({"nodes": 2, "mem": "2G", "array": "1-3"}, {"nodes": 2, "mem_bytes": 4 * GIB, "array_tasks": 3}),
        ({"user": None, "cores": None, "gpus": 0}, {}),
        ({}, {}),
    ],
)  # fmt: skip
def test_json(document: dict[str, object], expected: dict[str, object]) -> None:
    found = of_json(document)
    assert said(found.requests[0]) == expected
    assert found.source == "json"


def test_a_list_of_jobs() -> None:
    assert [request.cores for request in of_json([{"cores": 2}, {"cores": 3}]).requests] == [2, 3]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "3",
        '"x"',
        "[3]",
        "{",
        '{"cores": 2}{}',
        '{"memory": 3}',
        '{"cores": "4"}',
        '{"cores": 1.5}',
        '{"cores": 0}',
        '{"cores": true}',
        '{"cores": 1e400}',
        '{"cores": NaN}',
        '{"cores": -Infinity}',
        '{"cores": 1' + "0" * 5000 + "}",
        '{"cores": 1' + "0" * 400 + "}",
        '{"mem_bytes": -1}',
        '{"mem_bytes": 1e30}',
        '{"mem_bytes": 1, "mem": "1G"}',
        '{"time": "5", "time_limit_s": 300}',
        '{"array": "1-3", "array_tasks": 3}',
        '{"mem": "1.5G"}',
        '{"mem": 4}',
        '{"cores": 2, "cores": 3}',
        '{"cores": 2, "cpus": 3}',
        '{"name": ["x"]}',
        '{"gpus": 1, "gpu_type": "a b"}',
        '{"gpus": -1}',
        '{"exclusive": 1}',
        "[" * 100_000,
        '{"name": "' + "x" * 2**20 + '"}',
    ],
)
def test_json_that_is_no_job_is_one_line(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        from_json(io.BytesIO(text.encode()))
    assert str(caught.value).startswith("standard input")
    assert len(str(caught.value)) < 500


def test_json_that_is_no_text_is_one_line() -> None:
    with pytest.raises(UsageError):
        from_json(io.BytesIO(b'{"name": "\xff"}'))
