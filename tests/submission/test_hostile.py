"""Whatever text comes: a submission or one line of usage, nothing that moves a cursor, and in bounded work."""

import io
import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from audit.errors import UsageError
from audit.submission import advised_options, from_command, from_job, from_json
from tests.submission.scripts import of_bytes, submitted

PIECES = [
    *"#SBATCH|--mem|--mem=|4G|-c|-n|=|'|\"|\\|#|:|,|-|--|-N|2-|--gres=gpu:|hetjob|\n#SBATCH |--array=|1-9:|%".split(
        "|"
    ),
    *"\x00|\x1b[2J|\r|\n|\t| |\u202e|\udcff|é|٣|9999999999999999999999|1e9|-1|user=|mem=|cpus=|gpus=".split("|"),
]
TEXT = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=25).map("".join)
QUICK = settings(deadline=None, max_examples=300)


def plain(*lines: str) -> bool:
    return all(line.isprintable() for line in lines)


@QUICK
@given(TEXT)
def test_any_script_is_read(text: str) -> None:
    found = of_bytes(b"#!/bin/sh\n#SBATCH " + text.encode("utf-8", "surrogatepass"))
    assert found.requests
    assert plain(*found.warnings)
    for request in found.requests:
        advised_options(request, mem_bytes=2**30, cores=2, gpus=1, time_limit_s=60)
        for name in (request.job_name, request.account, request.partition):
            (name or "").encode()


@QUICK
@given(st.lists(TEXT, max_size=6))
def test_any_command_line_is_read_or_refused_in_one_line(words: list[str]) -> None:
    try:
        found = from_command(words)
    except UsageError as error:
        assert plain(str(error))
    else:
        assert plain(*found.warnings)


@QUICK
@given(TEXT)
def test_any_job_text_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        assert len(from_job(text).requests) == 1
    except UsageError as error:
        assert plain(str(error))


@QUICK
@given(st.binary(max_size=60) | TEXT.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_as_json_are_read_or_refused_in_one_line(body: bytes) -> None:
    try:
        assert from_json(io.BytesIO(body)).requests
    except UsageError as error:
        assert plain(str(error))


def test_long_input_is_bounded() -> None:
    assert submitted("-J " + "x" * 2**20).requests[0].job_name == "x" * 2**20
    assert submitted("-c 2 " + "'" * 2**20).requests[0].cores == 2
    assert len(submitted(*["--foo"] * 5000).warnings) <= 31
    assert any("10000" in line for line in submitted("-c 2 " * 200_000).warnings)
    many = ",".join(["gpu:1"] * 100_000)
    assert submitted(f"--gres={many}").requests[0].gpus is None


def test_names_keep_what_they_hold() -> None:
    found = from_command(["-J", "a\nb\x1b[2J\udcff", "--wrap=x"]).requests[0]
    assert found.job_name == "a\nb\x1b[2J\\xff"  # a byte that is no UTF-8 becomes its code, as in the evidence


def test_reading_a_submission_brings_no_heavy_library() -> None:
    code = (
        "import sys; from audit.submission import advised_options, from_command\n"
        "found = from_command(['--mem=4G', '--gres=gpu:a100:2', '-a', '1-4', '--wrap=x']).requests[0]\n"
        "advised_options(found, mem_bytes=1, gpus=1)\n"
        "print({'polars', 'numpy', 'duckdb'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
