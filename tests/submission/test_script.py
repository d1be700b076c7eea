"""Which lines of a script are directives, and how they split into words: as sbatch 22.05 does, checked against it."""

import os
from pathlib import Path

import pytest

from audit.errors import UsageError
from audit.submission import from_command
from tests.submission.scripts import of_bytes, request, submitted

GIB = 2**30


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("--mem=2G", {"mem": "2G"}),
        ("--mem 2G", {"mem": "2G"}),
        ("--mem=2G # the peak was 1.7G", {"mem": "2G"}),
        ("--mem=2G#tight", {"mem": "2G"}),  # a # ends the directive, even inside a word
        ("-c4", {"cpus-per-task": "4"}),
        ("-c 4", {"cpus-per-task": "4"}),
        ("-c   4  \t -n 3", {"cpus-per-task": "4", "ntasks": "3"}),
        ("-Hc4", {"cpus-per-task": "4"}),  # short options joined; the last takes the rest
        ("--cpus-per-t 3", {"cpus-per-task": "3"}),  # an abbreviation that fits one option
        ("--ntasks=8 --ntasks=2", {"ntasks": "2"}),  # the last word counts
        ("--tasks=2", {"ntasks-per-node": "2"}),  # abbreviates --tasks-per-node, not --ntasks
        ("-n '2'", {"ntasks": "2"}),
        ('--time="1-0" -n"2"', {"time": "1-0", "ntasks": "2"}),
        ("-t -1", {"time": "-1"}),  # what takes a value takes the next word, whatever it is
        ("--exclusive=user -n 2", {"ntasks": "2"}),
        ("-koff -n 2", {"ntasks": "2"}),
        ("--nice -n 2", {"ntasks": "2"}),
        ("--mail-user=<you>@example.org --export=ALL,A=1 -n 2", {"ntasks": "2"}),
        ("-n 2 --", {"ntasks": "2"}),
    ],
)
def test_words_of_a_directive(line: str, options: dict[str, str]) -> None:
    found = submitted(line)
    assert dict(found.requests[0].options) == options
    assert (found.warnings, found.unknown) == ((), ())


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("plain", "plain"),
        ("'two words'", "two words"),
        ('"two words"', "two words"),
        ("two' 'words", "two words"),
        (r"two\ words", "two words"),
        (r"a\#b", "a#b"),
        ("'a#b'", "a#b"),
        ("a#b", "a"),
        (r'"a\"b"', 'a"b'),
        (r"'a\nb\\c'", r"anb\c"),  # in either kind of quotes a backslash takes the next character as it is
        ('"it\'s"', "it's"),
        ("a:b", "a:b"),
        ("größe", "größe"),
        ("-x", "-x"),
        ("a\xa0b", "a\xa0b"),  # no blank to sbatch
    ],
)
def test_quotes_and_backslashes(written: str, name: str) -> None:
    assert request(f"-J {written}").job_name == name


@pytest.mark.parametrize(
    ("script", "cores"),
    [
        ("#!/bin/sh\n#SBATCH -c 2\n#SBATCH -c 3\n", 3),
        ("#!/bin/sh\n\n \t\n# why\n  # indented\n#SBATCH -c 2\n", 2),  # blank lines and comments may stand between
        ("#!/bin/sh\n#SBATCH -c 2\nmodule purge\n#SBATCH -c 3\n", 2),  # none counts after the first command
        ("#!/bin/sh\n:\n#SBATCH -c 2\n", 1),
        ("#!/bin/sh\n##SBATCH -c 2\n# SBATCH -c 3\n#sbatch -c 4\n", 1),
        ("#!/bin/sh\n  #SBATCH -c 2\n", 1),
        ("#!/bin/sh\n#SBATCH\t-c 2", 2),  # a tab; no line feed at the end
        ("#!/bin/sh\n#SBATCH-c2\n", 2),  # nothing needs to stand between
        ("#!/bin/sh\n#SBATCH\n#SBATCH -c 2\n", 2),
        ("#!/bin/sh\n#SBATCH -c\n#SBATCH 2\n", 2),  # a value may stand on the next directive
        ("#!/bin/sh\r\n#SBATCH -c 2\r\n", 2),
        ("#SBATCH -c 2\n", 2),
        ("\ufeff#!/bin/sh\n#SBATCH -c 2\n", 2),
        ("#!/bin/sh\n#SBATCH -J 'open -c 4\n#SBATCH -c 2\n", 2),
        ("#!/bin/sh\n#SBATCH stray -c 2\n", 2),
        ("#!/bin/sh\n#SBATCH -J x -c 2 -t\n", 2),
    ],
)
def test_which_lines_count(script: str, cores: int) -> None:
    assert of_bytes(script.encode()).requests[0].cores == cores


@pytest.mark.parametrize(
    ("script", "named"),
    [
        (b"#SBATCH -c 2\n", "#!"),
        (b"\xef\xbb\xbf#!/bin/sh\n", "#!"),
        (b"#!/bin/sh\r\n#SBATCH -c 2\r\n", "Windows"),
        (b"#!/bin/sh\n#SBATCH -c 2\x00\n", "NUL"),
        (b"#!/bin/sh\n  #SBATCH -c 2\n", "line 2"),
        (b"#!/bin/sh\n\nhostname\n#SBATCH -c 2\n", "line 4"),
        (b"#!/bin/sh\n#SBATCH --job-name=x stray\n", "'stray'"),
        (b"#!/bin/sh\n#SBATCH -J 'open\n", "quote"),
        (b"#!/bin/sh\n#SBATCH \xe2\x80\x93mem=4G\n", "'–mem=4G'"),  # a dash that a word processor made
        (b"#!/bin/sh\n#SBATCH -mem=4G\n", "--mem"),
        (b"#!/bin/sh\n#SBATCH --mem\n", "--mem lacks"),
        (b"#!/bin/sh\n#SBATCH --hold=1\n", "--hold"),
        (b"#!/bin/sh\n#PBS -l nodes=2\n", "#PBS"),
        (b"#!/bin/sh\n#SBATCH -c 2 --mem=2X\n", "line 2: --mem='2X'"),
        (b"#!/bin/sh\n#SBATCH --mem=2X\n#SBATCH --mem=2G\n", "line 2: --mem='2X'"),
        (b"#!/bin/sh\n#SBATCH --mem=2G --mem-per-cpu=1G\n", "--mem-per-cpu is taken"),
        (b"#!/bin/sh\n#SBATCH -a 1-5\n#SBATCH hetjob\n", "array"),
        (b"#!/bin/sh\n#SBATCH -n 4 --mem=2G\n", "one node"),
        (b"\x7fELF\x02\x01\x01" + b"\x00" * 100, "#!"),
        (b"#!/bin/sh\n" + b"#" * (4 * 2**20), "4 MiB"),
    ],
)
def test_what_sbatch_would_refuse_or_pass_over_is_a_warning(script: bytes, named: str) -> None:
    assert any(named in line for line in of_bytes(script).warnings)


@pytest.mark.parametrize(
    ("line", "unknown"),
    [
        ("--foo=3 -c 2", "--foo=3"),
        ("-c 2 --cpus=4", "--cpus=4"),  # --cpus-per-gpu or --cpus-per-task
        ("--CPUS-PER-TASK=4 -c 2", "--CPUS-PER-TASK=4"),
        ("-X -c 2", "-X"),
    ],
)
def test_an_unknown_option_is_kept_as_written_and_named(line: str, unknown: str) -> None:
    found = submitted(line)
    assert found.unknown == (unknown,)
    assert any(unknown in warning for warning in found.warnings)
    assert found.requests[0].cores == 2


def test_headers_as_people_write_them() -> None:
    gpu = """--job-name=multi_gpu  # create a short name for your job
--nodes=1                # node count
--ntasks=2               # total number of tasks across all nodes
--cpus-per-task=1        # cpu-cores per task (>1 if multi-threaded tasks)
--mem-per-cpu=1G         # memory per cpu-core (4G is default)
--gres=gpu:2             # number of gpus per node
--time=00:00:30          # total run time limit (HH:MM:SS)
--mail-type=begin,end,fail  # receive email notifications
--mail-user=<YourNetID>@example.org"""
    found = submitted(*gpu.splitlines(), body="\nmodule purge\nsrun ./direct.out")
    one = found.requests[0]
    assert (one.job_name, one.nodes, one.tasks, one.cores, one.gpus) == ("multi_gpu", 1, 2, 2, 2)
    assert (one.mem_bytes, one.time_limit_s, one.array_tasks) == (2 * GIB, 60, None)  # 30 s are a minute to Slurm
    array = "--output=slurm-%A.%a.out # stdout file|--array=0-2   # job array with index values 0, 1, 2|--mem=35G # 4G is default"
    assert (submitted(*array.split("|")).requests[0].array_tasks, found.warnings, found.unknown) == (3, (), ())


def test_the_command_line_wins_over_the_script() -> None:
    found = request("-c 2 --mem=2G -J of_script -p slow", typed=("-c", "3", "--partition=fast"))
    assert (found.cores, found.mem_bytes, found.job_name, found.partition) == (3, 2 * GIB, "of_script", "fast")


def test_the_environment_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SBATCH_PARTITION", "fast")
    monkeypatch.setenv("SBATCH_TIMELIMIT", "5")
    found = request("-c 2")
    assert (found.partition, found.time_limit_s) == (None, None)


def test_names_are_kept_as_written() -> None:
    found = request("-A phys -p gpu,long -q high -C 'a100&nvlink' --comment=hello")
    assert (found.account, found.partition, found.qos, found.constraint) == ("phys", "gpu,long", "high", "a100&nvlink")


@pytest.mark.parametrize(
    ("words", "name"),
    [(["--wrap", "hostname"], "wrap"), (["-c", "2"], "sbatch"), (["-J", "mine", "--wrap=x"], "mine")],
)
def test_a_job_without_a_name_is_named_as_sbatch_does(words: list[str], name: str) -> None:
    assert from_command(words).requests[0].job_name == name
    assert request("-c 2").job_name == "job.sbatch"


def test_arguments_of_the_script_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("#!/bin/sh\n#SBATCH -c 2\n")
    for words in (["-n", "2"], ["-n2", "--"]):
        (found,) = from_command([*words, str(tmp_path / "job.sh"), "-c", "9", ":", "--mem=9G"]).requests
        assert (found.cores, found.mem_bytes) == (4, None)


def test_a_user_whom_the_system_does_not_know_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise OSError("No username set in the environment")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert request("-c 2").user is None


@pytest.mark.parametrize(
    ("lines", "typed", "expected"),
    [
        # cores, memory in GiB, account, partition, time in minutes: partition and sizes start anew, the rest carries
        (["-c 2 -p a -A acc -t 5 --mem=3G", "hetjob", "-c 3"], (), [(2, 3, "acc", "a", 5), (3, None, "acc", None, 5)]),
        (["-c 2", "packjob", "-c 3 -t 9", "hetjob"], (), [(2, None, None, None, None), (3, None, None, None, 9), (1, None, None, None, 9)]),
        (["-c 2"], ("-A", "x", ":", "-c", "5", "-p", "b"), [(2, None, "x", None, None), (5, None, "x", "b", None)]),
        (["-c 2 -A acc", "hetjob", "-c 3 -A other"], ("-A", "x", ":", "-c", "4"), [(2, None, "x", None, None), (4, None, "other", None, None)]),
        (["-c 2"], ("-n", "2", ":"), [(4, None, None, None, None), (1, None, None, None, None)]),
    ],
)  # fmt: skip
def test_heterogeneous_jobs(lines: list[str], typed: tuple[str, ...], expected: list[tuple[object, ...]]) -> None:
    found = [
        (r.cores, r.mem_bytes and r.mem_bytes / GIB, r.account, r.partition, r.time_limit_s and r.time_limit_s / 60)
        for r in submitted(*lines, typed=typed).requests
    ]
    assert found == expected


def test_a_thousand_components_are_no_job() -> None:
    found = submitted(*["hetjob"] * 1000)
    assert len(found.requests) == 128
    assert any("128" in line for line in found.warnings)


def test_a_script_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "absent", tmp_path, tmp_path / "pipe", tmp_path / ("x" * 300), "a\x00b", ""):
        with pytest.raises(UsageError) as caught:
            from_command(["-c", "2", str(path)])
        assert "\n" not in str(caught.value)
    with pytest.raises(UsageError):
        from_command([])
