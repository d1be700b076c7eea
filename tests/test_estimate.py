"""`audit estimate` as a person or a program meets it: advice where much is known, the request where not, one line for a fault."""

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import audit.sizing.estimate
from audit.cli import main
from audit.errors import ExitCode
from audit.sizing.attempts import TARGETS, Problem
from audit.sizing.cases import Cases
from audit.sizing.train import train
from tests.sizing.clusters import attempts, unbounded
from tests.sizing.trained import SETTING

GIB = 2.0**30
SCHEMA = json.loads((Path(audit.sizing.estimate.__file__).parent / "estimate.schema.json").read_text())
USERS, FAMILIES = ["ann", "bob"], ["chem/relax-#", "chem/idle", "chem/once"]
LAST = "1970-01-26"  # the attempts end on the 25th
PRICES = {
    "schema": "audit-prices/1",
    "usd_per_core_hour": 0.03,
    "usd_per_mem_gib_hour": 0.004,
    "usd_per_gpu_hour": {"a100": 2.0},
    "reasons": {},
    "source": {},
}
# ann's relaxations: 600 of them, an hour apart and long, each of 4 cores, 64 GiB and 2 A100 under a limit of 4 hours;
# memory is 8 to 12 GiB. Every tenth is bob's, who has 2 GPUs too and never touches one; once ran once.
COUNT = 600


def problems() -> dict[str, Problem]:
    drawn = np.random.default_rng(7)
    bobs = np.arange(COUNT) % 10 == 9
    name = np.where(bobs, 1, 0)
    name[5] = 2
    made = attempts(
        COUNT, run_s=np.full(COUNT, 3600.0), end_s=3600.0 * np.arange(COUNT) + 3600, user=bobs.astype(np.int64), name=name,
        cores=np.full(COUNT, 4.0), mem_bytes=np.full(COUNT, 64 * GIB), gpus=np.full(COUNT, 2.0),
        limit_s=np.full(COUNT, 4 * 3600.0),
    )  # fmt: skip
    memory = drawn.uniform(8 * GIB, 12 * GIB, COUNT)
    touched = np.where(bobs, 0.0, 2.0)
    ran = drawn.uniform(3000.0, 4000.0, COUNT)
    return {
        "memory": unbounded("memory", made, memory, 64 * GIB),
        "walltime": unbounded("walltime", made, ran, 4 * 3600.0),
        "cores": unbounded("cores", made, np.full(COUNT, 3.9), 4.0),
        "gpus": unbounded("gpus", made, touched, 2.0),
        "gpu_activity": unbounded("gpu_activity", made, np.where(bobs, 0.0, 60.0), 100.0),
    }


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alpha")
    train(Cases(problems(), {}, USERS, FAMILIES, ["batch"], lowers_cores=True), SETTING, folder / "models")
    (folder / "models" / "prices.json").write_text(json.dumps(PRICES))
    return folder


@pytest.fixture
def alpha(trained: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(trained, tmp_path / "alpha"))


Said = tuple[int, str, str]
Ask = Callable[..., Said]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str], trained: Path) -> Ask:
    def asked(*words: str, folder: Path = trained, at: str = LAST) -> Said:
        capsys.readouterr()
        code = main(["estimate", "--dir", str(folder), "--at", at, *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return asked


RELAX = "user=ann,account=chem,name=relax-17,partition=batch,cpus=4,mem=64G,gpus=a100:2,time=4:00:00"


IDLE = "user=bob,account=chem,name=idle,partition=batch,cpus=4,mem=64G,gpus=a100:2,time=4:00:00"


def document(ask: Ask, *words: str, folder: Path | None = None) -> dict[str, Any]:
    _, out, _ = ask(*words, "--json", **({"folder": folder} if folder else {}))
    found: dict[str, Any] = json.loads(out)
    Draft202012Validator(SCHEMA).validate(found)
    return found


def resources(found: dict[str, Any], component: int = 0) -> dict[str, dict[str, Any]]:
    return {row["resource"]: row for row in found["components"][component]["resources"]}


def test_memory_is_lowered_to_what_jobs_like_it_need(ask: Ask) -> None:
    code, out, err = ask("--job", RELAX)
    found = document(ask, "--job", RELAX)
    memory = resources(found)["memory"]
    assert (code, err) == (ExitCode.DONE, "")
    assert memory["asked"] == 64 * GIB
    assert 8 * GIB <= memory["p50"] <= memory["p90"] <= memory["p95"] <= memory["p99"] <= 16 * GIB
    assert memory["recommended"] % GIB == 0
    assert memory["p99"] <= memory["recommended"] < memory["p99"] + GIB
    assert memory["chance_of_needing_more"] == {"share": 0.005, "is": "at most"}
    assert found["components"][0]["options"] == [f"--mem={int(memory['recommended'] / GIB)}G"]
    assert out.splitlines()[-1] == f"sbatch --mem={int(memory['recommended'] / GIB)}G"


def test_dollars_are_what_is_given_up_times_its_price_times_the_median_run(ask: Ask) -> None:
    found = document(ask, "--job", RELAX)
    component = found["components"][0]
    given_up_gib = 64 - resources(found)["memory"]["recommended"] / GIB
    assert component["expected_run_s"] == pytest.approx(3500, rel=0.1)
    assert component["saved_usd"] == pytest.approx(given_up_gib * 0.004 * component["expected_run_s"] / 3600)
    assert component["saved_usd_reason"] is None


def test_the_time_limit_stays_unless_it_is_asked_about(ask: Ask) -> None:
    kept = resources(document(ask, "--job", RELAX))["walltime"]
    assert kept["recommended"] is None
    assert kept["p99"] < 4 * 3600
    told = document(ask, "--job", RELAX, "--time-limit")
    assert resources(told)["walltime"]["recommended"] % 60 == 0
    assert [option for option in told["components"][0]["options"] if option.startswith("--time=0-01:")]


def test_gpus_are_given_up_only_where_they_were_never_used(ask: Ask) -> None:
    for asked in (2, 4):  # hers used both of the two they asked for: with four nobody knows
        used = resources(document(ask, "--job", RELAX.replace("a100:2", f"a100:{asked}")))["gpus"]
        assert used["recommended"] is None
        assert "used all" in used["kept_because"]
    found = document(ask, "--job", IDLE)
    assert resources(found)["gpus"]["recommended"] < 2
    assert any("no GPU was used" in warning for warning in found["components"][0]["warnings"])


def test_a_job_without_gpus_is_told_nothing_of_them(ask: Ask) -> None:
    without = RELAX.replace("gpus=a100:2,", "")
    assert resources(document(ask, "--job", without)).keys() == {"memory", "walltime", "cores"}


@pytest.mark.parametrize(
    ("words", "level", "risk", "shared_by"),
    [
        ((), 0.99, 0.02, 2),  # memory and GPUs
        (("--quantile", "0.9"), 0.9, 0.2, 2),
        (("--quantile", "0.96"), 0.98, 0.04, 2),  # the next level that is calibrated
        (("--risk", "0.1"), 0.95, 0.1, 2),  # 0.05 each
        (("--risk", "0.015"), 0.995, 0.01, 2),  # 0.0075 each: the next level above
        (("--risk", "0.03", "--time-limit"), 0.99, 0.03, 3),  # the time limit shares it
    ],
)
def test_a_risk_is_shared_by_all_limits_that_kill(
    ask: Ask, words: tuple[str, ...], level: float, risk: float, shared_by: int
) -> None:
    found = document(ask, "--job", IDLE, *words)
    assert (found["level"], found["risk_shared_by"], found["risk_is"]) == (level, shared_by, "at most")
    assert found["risk"] == pytest.approx(risk)


@pytest.mark.parametrize(
    ("job", "words", "shared_by", "risk"),
    [
        (RELAX, (), 1, 0.01),  # her GPUs are kept: memory alone
        (RELAX.replace("mem=64G,", ""), (), 1, None),  # nothing that kills is advised
        (IDLE, ("--quantile", "0.5"), 2, 1.0),
        (IDLE, ("--quantile", "0.5", "--time-limit"), 3, None),  # 1.5: says nothing
    ],
)
def test_a_risk_counts_what_is_advised_and_stays_below_one(
    ask: Ask, job: str, words: tuple[str, ...], shared_by: int, risk: float | None
) -> None:
    found = document(ask, "--job", job, *words)
    assert (found["risk_shared_by"], found["risk"]) == (shared_by, risk)
    assert "150 %" not in ask("--job", job, *words)[1]


def test_where_the_request_caps_the_advice_its_own_chance_is_the_risk(ask: Ask) -> None:
    # memory is 8 to 12 GiB, evenly: with 9 asked for, more than half need more
    found = document(ask, "--job", RELAX.replace("mem=64G", "mem=9G"))
    assert found["risk"] == resources(found)["memory"]["chance_of_needing_more"]["share"] >= 0.5
    assert found["risk_is"] == "at least"


@pytest.mark.usefixtures("ann")
def test_a_risk_too_small_for_many_limits_is_refused_with_what_is_accepted(
    ask: Ask, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    component = "#SBATCH -J relax-3 -A chem -p batch -c 4 --mem=64G\n"
    many = "#!/bin/bash\n" + "#SBATCH hetjob\n".join([component] * 101)
    _, _, err = ask_failing(capsys, ask, "--risk", "0.4", "--", written(tmp_path, many))
    assert "--quantile 0.995" in err
    assert "or --risk" not in err  # 0.505 is more than --risk takes


def test_a_risk_that_no_level_reaches_is_refused(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "--dir", ".", "--job", IDLE, "--risk", "0.001"]) == ExitCode.USAGE
    code, _, err = ask_failing(capsys, ask, "--job", IDLE, "--risk", "0.001")
    assert code == ExitCode.USAGE
    assert "--risk 0.01 or more" in err


def ask_failing(capsys: pytest.CaptureFixture[str], ask: Ask, *words: str, **where: Any) -> Said:
    """A question that fails: one line, nothing on standard output."""
    try:
        code, out, err = ask(*words, **where)
    except SystemExit as stopped:  # the parser's
        said = capsys.readouterr()
        return int(str(stopped.code)), said.out, said.err
    assert out == ""
    assert err.startswith("audit: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return code, out, err


@pytest.mark.parametrize(
    "job",
    [
        "user=eve,account=chem,name=relax-17,partition=batch,cpus=4,mem=64G,time=4:00:00",  # a user never seen
        "user=ann,account=chem,name=new,partition=batch,cpus=4,mem=64G,time=4:00:00",  # a name never seen
        "user=ann,account=chem,name=once,partition=batch,cpus=4,mem=64G,time=4:00:00",  # one attempt like it
    ],
)
def test_with_fewer_than_three_like_it_the_request_is_kept(ask: Ask, job: str) -> None:
    code, out, _ = ask("--job", job)
    assert code == ExitCode.NO_REPORT
    assert "the request is kept" in out
    memory = resources(document(ask, "--job", job))["memory"]
    assert memory["recommended"] is None
    assert "too few jobs like it" in memory["kept_because"]
    assert memory["p50"] is not None


def test_a_request_that_is_too_small_is_warned_of(ask: Ask) -> None:
    small = RELAX.replace("mem=64G", "mem=9G").replace("time=4:00:00", "time=50")
    found = document(ask, "--job", small)
    memory = resources(found)["memory"]
    assert memory["recommended"] == 9 * GIB  # never above the request
    assert memory["chance_of_needing_more"]["share"] >= 0.5
    assert len([w for w in found["components"][0]["warnings"] if "lies below p90" in w]) == 2


def test_a_request_that_is_right_is_told_so(ask: Ask) -> None:
    right = RELAX.replace("mem=64G", "mem=12G")  # the most that any of hers needed
    code, out, _ = ask("--job", right)
    assert code == ExitCode.DONE
    assert "right as it is" in out
    assert document(ask, "--job", right)["components"][0]["saved_usd"] == 0


def test_an_advice_is_never_below_what_killed_jobs_like_it(tmp_path: Path, ask: Ask) -> None:
    made = problems()["memory"]
    need, cut = made.need.copy(), np.zeros(COUNT, dtype=bool)
    need[-2], cut[-2] = 30 * GIB, True  # ann's last: out of memory at the 30 GiB that it had asked for
    asked = made.asked.copy()
    asked[-2] = 30 * GIB
    killed = replace(made, need=need, is_bound=cut, asked=asked)
    train(Cases({"memory": killed}, {}, USERS, FAMILIES, ["batch"], lowers_cores=False), SETTING, tmp_path / "models")
    found = resources(document(ask, "--job", RELAX, "--quantile", "0.5", folder=tmp_path))["memory"]
    assert found["p50"] < 20 * GIB
    assert found["recommended"] == 60 * GIB  # none got through since: twice the 30
    low = document(ask, "--job", RELAX.replace("mem=64G", "mem=40G"), folder=tmp_path)
    assert resources(low)["memory"]["recommended"] == 40 * GIB
    assert any("ran out of memory at 30 GiB" in warning for warning in low["components"][0]["warnings"])


def test_after_one_that_got_through_an_advice_still_lies_above_what_killed(tmp_path: Path, ask: Ask) -> None:
    made = problems()["memory"]
    need, cut, asked = made.need.copy(), np.zeros(COUNT, dtype=bool), made.asked.copy()
    need[-3], cut[-3], asked[-3] = 30 * GIB, True, 30 * GIB  # out of memory; her last, of 8 to 12 GiB, got through
    killed = replace(made, need=need, is_bound=cut, asked=asked)
    train(Cases({"memory": killed}, {}, USERS, FAMILIES, ["batch"], lowers_cores=False), SETTING, tmp_path / "models")
    for job in (RELAX, RELAX.replace("cpus=4", "cpus=6")):  # of about that size
        found = document(ask, "--job", job, "--quantile", "0.5", folder=tmp_path)
        assert resources(found)["memory"]["recommended"] == 31 * GIB


def test_a_time_limit_is_never_below_what_cut_jobs_like_it(tmp_path: Path, ask: Ask) -> None:
    made = problems()["walltime"]
    need, cut, asked = made.need.copy(), np.zeros(COUNT, dtype=bool), made.asked.copy()
    need[-2], cut[-2], asked[-2] = 7000.0, True, 7000.0  # her last ran into its limit
    late = replace(made, need=need, is_bound=cut, asked=asked)
    train(Cases({"walltime": late}, {}, USERS, FAMILIES, ["batch"], lowers_cores=False), SETTING, tmp_path / "models")
    words = ("--job", RELAX, "--time-limit", "--quantile", "0.5")
    found = resources(document(ask, *words, folder=tmp_path))["walltime"]
    assert found["recommended"] == 14_040  # twice 7,000 s, in whole minutes


@pytest.mark.parametrize(
    ("job", "resource", "why"),
    [
        (f"{RELAX},nodes=2", "memory", "on several nodes"),
        (f"{RELAX},nodes=2", "cores", "on several nodes"),
        (IDLE.replace("a100:2", "a100:4") + ",nodes=2", "gpus", "on several nodes"),
        (RELAX.replace("mem=64G,", ""), "memory", "the site's default is not known"),
    ],
)
def test_what_cannot_be_told_is_kept_as_asked(ask: Ask, job: str, resource: str, why: str) -> None:
    found = resources(document(ask, "--job", job))[resource]
    assert found["recommended"] is None
    assert why in found["kept_because"]


def test_a_time_before_the_last_that_the_model_knows_is_warned_of(ask: Ask) -> None:
    assert "knows what came later" in ask("--job", RELAX, at="1970-01-20")[2]
    assert "knows what came later" not in ask("--job", RELAX)[2]


def test_each_step_from_forecast_to_advice_is_explained(ask: Ask) -> None:
    found = resources(document(ask, "--job", RELAX))["memory"]
    amounts = [step["amount"] for step in found["steps"]]
    assert amounts[1] == pytest.approx(found["p99"])
    assert amounts[-1] == found["recommended"]
    _, out, _ = ask("--job", RELAX, "--explain")
    assert out.count("memory: ") > len(amounts)


SCRIPT = (
    "#!/bin/bash\n#SBATCH -J relax-3 -A chem -p batch\n#SBATCH -c 4 --mem=64G --gres=gpu:a100:2 -t 4:00:00\nsrun x\n"
)


@pytest.fixture
def ann(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ann")


def written(folder: Path, text: str | bytes) -> str:
    path = folder / "job.sbatch"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


@pytest.mark.usefixtures("ann")
def test_a_script_is_read_as_sbatch_reads_it(ask: Ask, tmp_path: Path) -> None:
    script = written(tmp_path, SCRIPT)
    code, out, _ = ask("--", script, "--mem=1G")  # what follows the script is its own
    assert code == ExitCode.DONE
    assert "64 GiB" in out
    found = json.loads(ask("--json", "--", "--mem=32G", script)[1])
    assert resources(found)["memory"]["asked"] == 32 * GIB
    assert found["source"] == "script"


@pytest.mark.usefixtures("ann")
def test_components_of_one_job_share_the_risk(ask: Ask, tmp_path: Path) -> None:
    second = "#SBATCH hetjob\n#SBATCH -p batch -c 4 --mem=64G\n"
    found = json.loads(ask("--json", "--", written(tmp_path, SCRIPT.replace("srun x\n", second)))[1])
    Draft202012Validator(SCHEMA).validate(found)
    assert len(found["components"]) == 2
    assert (found["risk_shared_by"], found["risk"]) == (2, 0.02)  # memory twice; her GPUs are kept
    assert ask("--", str(tmp_path / "job.sbatch"))[1].count("at most 2 %") == 2  # a line a component
    assert resources(found, 1).keys() == {"memory", "walltime", "cores"}


def test_jobs_come_as_json_on_standard_input(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    job = {"user": "ann", "account": "chem", "job_name": "relax-1", "cores": 4, "mem": "64G", "time": "4:00:00"}
    for words in ((), ("-",)):
        stream = io.TextIOWrapper(io.BytesIO(json.dumps([job, job]).encode()))
        monkeypatch.setattr(sys, "stdin", stream)
        found = document(ask, *words)
        assert len(found["components"]) == 2
        assert found["risk_shared_by"] == 1  # two jobs of one limit each


@pytest.mark.usefixtures("ann")
@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("#!/bin/bash\necho hi\n", ExitCode.NO_REPORT, ""),  # asks for nothing, and nobody ran job.sbatch before
        (SCRIPT.replace("\n", "\r\n"), ExitCode.DONE, "Windows line ends"),
        (SCRIPT.replace("--mem=64G", "--mem=64G --mem-per-cpu=2G"), ExitCode.DONE, "sbatch refuses --mem"),
        (SCRIPT.replace("--mem=64G", "--mem=64G --memory-hog"), ExitCode.DONE, "is no option of sbatch"),
        (SCRIPT.replace("64G", "99999999999999999999999T"), ExitCode.DONE, "cannot be read"),
        (SCRIPT.replace("-t 4:00:00", "-t -7"), ExitCode.DONE, "cannot be read"),
        (SCRIPT + "# " + "x" * 2**20, ExitCode.DONE, ""),
        (SCRIPT.replace("relax-3", "\x1b[2Jrelax-3"), ExitCode.NO_REPORT, ""),
        (b"#!/bin/sh\n#SBATCH -J \xff\xfe\x00\n", ExitCode.NO_REPORT, "NUL"),
    ],
)
def test_an_odd_script_is_read_as_far_as_it_goes(
    ask: Ask, tmp_path: Path, text: str | bytes, code: ExitCode, says: str
) -> None:
    found, out, err = ask("--", written(tmp_path, text))
    assert found == code
    assert says in err
    assert "\x1b" not in out + err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--job", "cpus=4", "job.sbatch"), "said twice"),
        (("--job", "cpus=many"), "cannot be read"),
        (("--job", "colour=red"), "is no key"),
        (("--", "nowhere.sbatch"), "no such script"),
        (("--quantile", "1.5", "--job", "cpus=4"), "expects a share"),
        (("--risk", "0", "--job", "cpus=4"), "expects a share"),
        (("--risk", "0.1", "--quantile", "0.9", "--job", "cpus=4"), "not allowed with"),
        (("--quantile", "0.999", "--job", "cpus=4"), "nothing above p99.5 is calibrated"),
        (("--at", "yesterday", "--job", "cpus=4"), "expects a time"),
        (("--frobnicate",), "unrecognized"),
    ],
)
def test_a_question_that_cannot_be_is_refused(
    ask: Ask, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    code, _, err = ask_failing(capsys, ask, *words)
    assert code == ExitCode.USAGE
    assert says in err


def test_a_folder_that_is_no_engagement_is_refused(
    ask: Ask, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, _, err = ask_failing(capsys, ask, "--job", RELAX, folder=tmp_path)
    assert code == ExitCode.USAGE
    assert "--dir" in err


def test_without_a_model_of_its_own_others_are_shown_and_nothing_is_advised(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    code, out, err = ask("--job", RELAX, folder=tmp_path)
    assert code == ExitCode.NO_REPORT
    assert "run `audit train`" in err
    assert "the request is kept" in out
    found = document(ask, "--job", RELAX, folder=tmp_path)
    told = resources(found)
    assert {row["model"] for row in told.values()} == {"others"}
    assert all(row["recommended"] is None and row["p50"] <= row["p99"] <= row["asked"] for row in told.values())
    assert told.keys() == {"memory", "walltime"}
    assert found["components"][0]["options"] == []


def spoiled(models: Path, how: str) -> None:
    card, arrays = models / "memory.card.json", next(models.glob("memory-*.arrays"))
    head = json.loads(card.read_text())
    match how:
        case "cut short":
            arrays.write_bytes(arrays.read_bytes()[:-9])
        case "other bytes":
            arrays.write_bytes(b"\0" * arrays.stat().st_size)
        case "no arrays":
            arrays.unlink()
        case "pickle":
            card.write_bytes(b"\x80\x04\x95cos\nsystem\n")
        case "other format":
            card.write_text(json.dumps({**head, "format": 99}))
        case "no facts":
            del head["card"]["facts"]
            card.write_text(json.dumps(head))
        case "other facts":
            head["card"]["facts"]["quantile"] = 7
            card.write_text(json.dumps(head))
        case "facts of another type":
            head["card"]["facts"]["lowers_cores"] = "yes"
            card.write_text(json.dumps(head))
        case "a link":
            card.rename(models / "real")
            card.symlink_to(models / "real")
        case "prices":
            (models / "prices.json").write_text('{"schema": "audit-prices/1", "usd_per_core_hour": NaN}')


HOWS = ["cut short", "other bytes", "no arrays", "pickle", "other format", "no facts", "other facts", "facts of another type",
        "a link", "prices"]  # fmt: skip


@pytest.mark.parametrize("how", HOWS)
def test_a_spoiled_model_is_one_line_with_its_remedy(
    ask: Ask, capsys: pytest.CaptureFixture[str], alpha: Path, how: str
) -> None:
    spoiled(alpha / "models", how)
    code, _, err = ask_failing(capsys, ask, "--job", RELAX, folder=alpha)
    assert code == ExitCode.FAILED
    assert "audit train" in err
    assert str(alpha / "models") in err


def test_a_target_without_a_model_is_left_to_others(ask: Ask, alpha: Path) -> None:
    (alpha / "models" / "walltime.card.json").unlink()
    told = resources(document(ask, "--job", RELAX, folder=alpha))
    assert (told["memory"]["model"], told["walltime"]["model"]) == ("cluster", "others")


def test_a_stale_model_advises_and_says_so(ask: Ask) -> None:
    assert "audit train" not in ask("--job", RELAX, at="1970-02-20")[2]  # 26 days after the last end
    code, _, err = ask("--job", RELAX, at="1970-03-01")
    assert code == ExitCode.DONE
    assert "run `audit train`" in err


def test_without_prices_dollars_are_not_known_for_a_reason(ask: Ask, alpha: Path) -> None:
    (alpha / "models" / "prices.json").unlink()
    component = document(ask, "--job", RELAX, folder=alpha)["components"][0]
    assert component["saved_usd"] is None
    assert "audit train" in component["saved_usd_reason"]


def test_an_estimate_brings_no_library_that_fits_or_queries(trained: Path) -> None:
    code = (
        "import sys; from audit.cli import main; "
        f"main(['estimate', '--dir', {str(trained)!r}, '--at', {LAST!r}, '--job', {RELAX!r}]); "
        "heavy = {'duckdb', 'polars', 'sklearn', 'lightgbm', 'matplotlib', 'scipy', 'weasyprint'} & set(sys.modules); "
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_schema_is_one_and_time_is_utc(ask: Ask) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert document(ask, "--job", RELAX)["at"] == "1970-01-26T00:00:00Z"
    assert datetime.fromisoformat(document(ask, "--job", RELAX)["model_data_to"]) == datetime(1970, 1, 26, tzinfo=UTC)


def test_every_target_is_told_of_in_the_schema() -> None:
    resource = SCHEMA["properties"]["components"]["items"]["properties"]["resources"]["items"]
    assert resource["properties"]["resource"]["enum"] == list(TARGETS)


@pytest.mark.parametrize(
    ("policy", "changed"),
    [
        pytest.param("quantile = 0.95", lambda memory: memory["level"] == 0.95, id="another quantile"),
        pytest.param("mem_step_gib = 8", lambda memory: memory["recommended"] % (8 * GIB) == 0, id="another step"),
        pytest.param(
            'whole_node_partitions = ["batch"]',
            lambda memory: "whole nodes" in memory["kept_because"],
            id="whole nodes",
        ),
    ],
)
def test_the_policy_is_that_of_audit_toml_as_it_stands(
    ask: Ask, alpha: Path, policy: str, changed: Callable[[dict[str, Any]], bool]
) -> None:
    (alpha / "audit.toml").write_text(f'cluster = "alpha"\ntimezone = "UTC"\n[policy]\n{policy}\n')
    assert changed(resources(document(ask, "--job", RELAX, folder=alpha))["memory"])
