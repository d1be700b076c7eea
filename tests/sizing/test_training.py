"""A training leaves a model, a card and scores for each target that was measured enough; the better model stays."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import audit
from audit.errors import NoReportError
from audit.sizing.attempts import LEVELS, TARGETS
from audit.sizing.model_set import Facts, TargetModel, load_model, save_model
from audit.sizing.replay import Replay, replay
from audit.sizing.train import Training, train
from audit.sizing.training import Comparison, compare, kept, pinball, served
from tests.sizing.clusters import busy
from tests.sizing.trained import NAMES, SETTING, cases, job, until


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def trained(folder: Path) -> Training:
    memory = busy(500, seed=1)
    walltime = replace(memory, target=TARGETS["walltime"], need=memory.attempts.run_s, asked=memory.attempts.run_s * 4)
    few = replace(memory, target=TARGETS["cores"], need=np.where(np.arange(500) < 30, 1.0, np.nan))
    return train(cases(memory=memory, walltime=walltime, cores=few), SETTING, folder)


def test_a_target_measured_enough_gets_a_model_and_another_is_named(trained: Training, folder: Path) -> None:
    assert trained.models.keys() == trained.replays.keys() == {"memory", "walltime"}
    assert trained.too_few == {"cores": 30}
    assert sorted(path.name for path in folder.glob("*.card.json")) == ["memory.card.json", "walltime.card.json"]


def test_the_card_says_what_the_model_rests_on(trained: Training, folder: Path) -> None:
    card = json.loads((folder / "memory.card.json").read_text())["card"]
    model = trained.models["memory"]
    assert card == {**json.loads(json.dumps(model.card)), "facts": card["facts"]}
    assert (card["attempts"], card["measured"], card["users"]) == (500, 500, 8)
    assert card["bounds"] == int(busy(500, seed=1).is_bound.sum())
    assert 0 < card["bursts"] <= 500
    assert [level["level"] for level in card["coverage"]] == [0.5, 0.9, 0.95, 0.99]
    assert card["champion"]["expert"] == model.facts.expert != card["challenger"]["expert"]
    assert card["earlier"] == {"attempts": 0, "pinball_earlier": None, "pinball_new": None, "kept": False}
    assert card["versions"].keys() == {"numpy", "scikit-learn", "lightgbm", "capacity-audit"}
    assert card["settings"]["policy"]["least_like"] == 3
    assert card["evidence_sha256"] == SETTING.evidence_sha256
    assert card["generated_sample"] is False


def test_the_scores_of_the_back_test_stand_beside_the_models(trained: Training, folder: Path) -> None:
    scores = json.loads((folder / "backtest.json").read_text())
    assert [target["target"] for target in scores["targets"]] == ["memory", "walltime"]


def test_what_is_read_is_what_was_written(trained: Training, folder: Path) -> None:
    found, problem = load_model(folder, "memory"), busy(500, seed=1)
    assert found is not None
    assert found.facts == trained.models["memory"].facts
    asked = job(problem, 499)
    assert found.served.forecast(asked).needs.tolist() == trained.models["memory"].served.forecast(asked).needs.tolist()


def test_the_same_attempts_give_the_same_model(trained: Training, folder: Path, tmp_path: Path) -> None:
    train(cases(memory=busy(500, seed=1)), SETTING, tmp_path)
    ours, theirs = (sorted(path.name for path in where.glob("memory-*")) for where in (folder, tmp_path))
    assert ours == theirs  # the name holds the sha256


def test_with_too_few_attempts_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(NoReportError, match="200 finished attempts"):
        train(cases(memory=busy(120, seed=1)), SETTING, tmp_path / "models")
    assert not (tmp_path / "models").exists()


def test_a_target_that_is_not_measured_any_more_loses_its_model(tmp_path: Path) -> None:
    train(cases(memory=busy(260, seed=1)), SETTING, tmp_path)
    gone = replace(busy(260, seed=1), target=TARGETS["vram"])
    train(cases(vram=gone), SETTING, tmp_path)
    assert sorted(path.name.partition("-")[0] for path in tmp_path.glob("*.arrays")) == ["vram"]
    assert load_model(tmp_path, "memory") is None


def test_pinball_loss_weighs_misses_by_the_level() -> None:
    # one need of 1 under forecasts of 0 costs the level each; over forecasts of 2, what is left of 1 each
    below = np.zeros((1, len(LEVELS)))
    assert pinball(np.array([1.0]), below) == pytest.approx(np.mean(LEVELS))
    assert pinball(np.array([1.0]), below + 2) == pytest.approx(1 - np.mean(LEVELS))


@pytest.fixture(scope="module")
def later() -> Replay:
    return replay(busy(900, seed=5))


@pytest.mark.parametrize(
    ("off", "keeps"),
    [
        (0.0, False),  # the new one foresaw what came after to the byte
        (5.0, True),  # it is a hundredfold off: the earlier one stays
    ],
)
def test_the_earlier_model_stays_where_it_foresaw_better(later: Replay, off: float, keeps: bool) -> None:
    row = 450
    then = served(replay(until(later.problem, row)), NAMES)
    made_s = float(later.problem.decided_s[row])
    issued = np.repeat(later.problem.log_need[:, np.newaxis] + off, len(LEVELS), axis=1)
    found = compare(then, made_s, replace(later, issued=issued), NAMES)
    assert found.attempts == int((later.problem.decided_s[later.known.by_end] > made_s).sum())
    assert found.keeps_earlier is keeps


def test_without_enough_attempts_since_it_is_replaced(later: Replay) -> None:
    then = served(replay(until(later.problem, 450)), NAMES)
    found = compare(then, float(later.problem.decided_s[-100]), later, NAMES)
    assert (found.attempts, found.keeps_earlier) == (0, False)
    assert Comparison().keeps_earlier is False


def test_the_model_that_stays_knows_what_has_ended_since(later: Replay) -> None:
    then, new = served(replay(until(later.problem, 450)), NAMES), served(later, NAMES)
    stays = kept(then, new)
    assert stays.expert == then.expert
    assert stays.forecast(job(later.problem, 899)).like == new.forecast(job(later.problem, 899)).like


def test_a_model_of_another_cluster_is_not_compared(tmp_path: Path, later: Replay) -> None:
    model = served(later, NAMES)
    facts = Facts(model.expert, "beta", 0.0, 0.0, 0.0, 0.99, 2.0**30, False, False)
    save_model(tmp_path, TargetModel(model, facts, {}))
    trained = train(cases(memory=busy(500, seed=1)), SETTING, tmp_path)
    assert trained.models["memory"].facts.cluster == "alpha"
    assert trained.models["memory"].card["earlier"]["attempts"] == 0  # type: ignore[index]


def test_a_training_is_of_this_version(trained: Training) -> None:
    assert trained.models["memory"].card["versions"]["capacity-audit"] == audit.__version__  # type: ignore[index]
