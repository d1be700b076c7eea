"""Pseudonyms: nobody is named, everybody can be told apart, and the same person stays the same."""

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from audit.errors import AuditError
from audit.reporting.pseudonyms import KEY_NAME, Pseudonyms, pseudonymise, pseudonyms
from tests.accounting.cluster import Cluster

KEY = b"k" * 32


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("alice", "{alice}"),
        ("/home/alice/run.sh", "/home/{alice}/run.sh"),
        ("root@alice-ws", "root@{alice}-ws"),
        ("xalicex_#", "x{alice}x_#"),  # four characters and more: anywhere
        ("ALICE.Train", "{alice}.Train"),
        ("alicebob_1", "{alicebob}_1"),  # the longest that begins there
        ("alice alice", "{alice} {alice}"),
        ("bob_run", "{bob}_run"),  # shorter: only where it stands alone
        ("run-BOB", "run-{bob}"),
        ("kabob bobby Bobby KABOB", "kabob bobby Bobby KABOB"),
        ("bob2 bob_3 4bob", "{bob}2 {bob}_3 4{bob}"),  # a digit or an underscore is an end
        ("bobTrain BobTrain myBobRun", "{bob}Train {bob}Train my{bob}Run"),  # and so is a capital after small letters
        ("x1 x1_run", "{x1} {x1}_run"),  # of letters and digits: only as a whole word
        ("x12 ax1 x1a X", "x12 ax1 x1a X"),
        ("bob,bob", "{bob},{bob}"),
        ("u u-u", "{u} {u}-{u}"),  # no pseudonym is read as a name again
        ("j.d/run", "{j.d}/run"),
        ("a-b_c", "a-b_c"),
        ("ZOËLLE zoëlle", "{Zoëlle} {Zoëlle}"),
        ("", ""),
        (None, None),
    ],
)
def test_a_text_names_nobody(text: str | None, shown: str | None) -> None:
    names = Pseudonyms(["alice", "bob", "alicebob", "u", "j.d", "Zoëlle", "x1", "-", ""], KEY)
    expected = shown and re.sub(r"{([^}]*)}", lambda found: str(names.user(found[1])), shown)
    assert names.text(text) == expected


@pytest.mark.parametrize(
    ("user", "job", "family"),
    [
        ("jsmith2", "jsmith2_run1", "{}_run#"),
        ("jsmith2", "/home/JSmith2/a.sh", "/home/{}/a.sh"),
        ("mueller01", "mueller01-train", "{}-train"),
        ("ab12345", "ab12345_x", "{}_x"),
        ("xXx9", "my-xXx9", "my-{}"),
        ("user[1]", "user[1].7", "{}.#"),
        ("carol@2026-05-01", "carol@2026-05-01", "{}"),
        ("ab1", "ab1_run lab1 xy/ab1c", "{}_run lab# xy/{}c"),  # ab# is short: not within a word
        ("1001", "run-1001", "run-#"),  # tells nothing
        ("deadbeef12", "deadbeef12.sh", "#.sh"),
        ("alice", "alice-3", "{}-#"),
        ("sue7", "sue8", "{}"),  # nobody can tell that it was another
    ],
)
def test_a_family_names_nobody(tmp_path: Path, user: str, job: str, family: str) -> None:
    cluster = Cluster()
    cluster.node("n1")
    cluster.job("1", 0, 4, user_name=user, account="lab", job_name=job)
    connection, report = cluster.made
    names = pseudonyms(connection, tmp_path)
    (row,) = pseudonymise(report, names)["families"]
    assert row["family"] == family.replace("{}", str(names.user(user)))


def test_a_family_of_several_users_names_is_of_none_of_them(tmp_path: Path) -> None:
    names = pseudonyms(store("user01", "User02", "carol3"), tmp_path)
    shown = [names.text(text) for text in ("user#_train", "user01_train", "carol#")]
    assert shown == ["u-#_train", f"{names.user('user01')}_train", names.user("carol3")]


COMPOSED, DECOMPOSED = "jos\u00e9", "jose\u0301"


@pytest.mark.parametrize("user", [COMPOSED, DECOMPOSED])
@pytest.mark.parametrize("text", [COMPOSED, DECOMPOSED, COMPOSED.upper(), DECOMPOSED.title()])
def test_a_name_is_found_in_either_form_of_unicode(user: str, text: str) -> None:
    names = Pseudonyms([user], KEY)
    assert names.text(f"{text}_run") == f"{names.user(user)}_run"


@pytest.mark.parametrize("odd", ["n" * 10_000, "n" * 65, "é" * 65, "😀" * 200, "</script>" * 20, "$1" * 40])
def test_an_overlong_name_is_found(odd: str) -> None:
    names = Pseudonyms([odd, "nnnn", "alice", *(f"</odd {number}>" for number in range(25))], KEY)
    texts = pl.Series([odd, f"/home/{odd}/alice", None, "alice"])
    shown, alice = names.user(odd), names.user("alice")
    assert names.texts(texts).to_list() == [shown, f"/home/{shown}/{alice}", None, alice]


def test_of_many_overlong_names_the_rest_is_found_alone() -> None:
    odd = [f"{number:03}" + "n" * 70 for number in range(60)]
    names = Pseudonyms(odd, KEY)
    assert names.texts(pl.Series(odd)).to_list() == [names.user(name) for name in odd]


def test_no_text_can_pass_for_a_code_of_the_search() -> None:
    names = Pseudonyms(["alice", "bob"], KEY)
    text = names.text("\U000f0000\U00100000 \U0010ffffbob\U0010ffff")
    assert text == f"\ufffd\ufffd \ufffd{names.user('bob')}\ufffd"


def test_a_pseudonym_tells_users_apart_and_stays_the_same() -> None:
    names = Pseudonyms(["alice", "bob"], KEY)
    assert re.fullmatch("u-[a-z2-7]{6}", str(names.user("alice")))
    assert names.user("alice") != names.user("bob")
    assert names.user("alice") == Pseudonyms(["alice", "carol"], KEY).user("alice")
    assert names.user("alice") != Pseudonyms(["alice"], b"l" * 32).user("alice")
    assert names.user("nobody of the store") == Pseudonyms(["nobody of the store"], KEY).user("nobody of the store")
    assert (names.user(None), names.user("")) == (None, "")
    assert names.users(pl.Series([None, None], dtype=pl.String)).to_list() == [None, None]


def test_two_who_would_share_one_get_longer_ones() -> None:
    pair = ["user24034", "user28219"]  # under this key both begin u-zrarp7
    alone = {Pseudonyms([name], KEY).user(name) for name in pair}
    together = [str(Pseudonyms(pair, KEY).user(name)) for name in pair]
    assert len(alone) == 1
    assert len(set(together)) == 2
    assert {len(shown) for shown in together} == {len("u-") + 7}


def test_no_pseudonym_spells_a_users_name() -> None:
    letters = "abcdefghijkl"
    names = [a + b + c + d for a in letters for b in letters for c in letters for d in letters]
    shown = Pseudonyms(names, KEY).users(pl.Series(names))
    assert shown.n_unique() == len(names)
    assert not shown.str.contains_any(names).any()


def test_real_names_stay_as_they_are(tmp_path: Path) -> None:
    names = pseudonyms(duckdb.connect(), tmp_path, real_names=True)
    assert (names.are_real, names.user("alice"), names.text("/home/alice")) == (True, "alice", "/home/alice")
    assert list(tmp_path.iterdir()) == []


def store(*users: str | None) -> duckdb.DuckDBPyConnection:
    cluster = Cluster()
    for number, name in enumerate(users):
        cluster.job(str(number), 0, 1, user_name=name)
    return cluster.connect()


def test_the_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    first = pseudonyms(store("alice", None), tmp_path)
    assert stat.S_IMODE((tmp_path / KEY_NAME).stat().st_mode) == 0o600
    assert len((tmp_path / KEY_NAME).read_bytes()) == 32
    again = pseudonyms(store("alice", "bob"), tmp_path)
    assert not first.are_real
    assert first.user("alice") == again.user("alice") != "alice"
    assert again.text("bob") == again.user("bob")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_a_key_that_others_can_reach_is_refused(tmp_path: Path, mode: int) -> None:
    pseudonyms(store("alice"), tmp_path)
    (tmp_path / KEY_NAME).chmod(mode)
    with pytest.raises(AuditError, match="by others"):
        pseudonyms(store("alice"), tmp_path)


def test_a_key_that_is_none_and_a_folder_that_is_none(tmp_path: Path) -> None:
    os.close(os.open(tmp_path / KEY_NAME, os.O_CREAT | os.O_WRONLY, 0o600))
    with pytest.raises(AuditError, match="not a key"):
        pseudonyms(store("alice"), tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(AuditError, match="cannot be made or read"):
        pseudonyms(store("alice"), tmp_path / "file")


def report_of(cluster: Cluster) -> dict[str, Any]:
    cluster.add(
        "evidence_file", file_id=1, sha256="0" * 64, name="home/alice/sacct.txt", kind="sacct text", size_bytes=1, records=2,
        attempts=2, steps=0, rejects=0, other_cluster=0, generated=False,
    )  # fmt: skip
    return cluster.report()


def test_a_report_keeps_its_figures_and_names_nobody() -> None:
    cluster = Cluster()
    cluster.node("n1")
    cluster.job("1", 0, 4, user_name="alice", account="alice_lab", job_name="train-ALICE-7")
    cluster.job("2", 0, 4, user_name="bob", account="ops", job_name="/home/bob/run.sh", partition="bob")
    real = report_of(cluster)
    names = Pseudonyms(["alice", "bob"], KEY)
    shown = pseudonymise(real, names)
    alice, bob = names.user("alice"), names.user("bob")
    assert {row["user"] for row in shown["users"]} == {alice, bob}
    assert {(row["account"], row["family"], row["user"]) for row in shown["families"]} == {
        (f"{alice}_lab", f"train-{alice}-#", alice),
        ("ops", f"/home/{bob}/run.sh", bob),
    }
    assert {row["account"] for row in shown["accounts"]} == {f"{alice}_lab", "ops"}
    assert shown["evidence"][0]["name"] == f"home/{alice}/sacct.txt"
    assert "alice" not in json.dumps(shown).lower()
    assert {row["partition"] for row in shown["by_partition"]} == {"main", "bob", None}  # the site's name, no person's
    assert (shown["real_names"], "real_names" in real) == (False, False)
    assert {**shown["cost"], **shown["hours"]} == {**real["cost"], **real["hours"]}
    assert pseudonymise(real, Pseudonyms((), None)) == {**real, "real_names": True}


def test_the_users_of_a_back_test_are_not_named(advised_report: dict[str, Any]) -> None:
    for target in advised_report["sizing"]["targets"]:
        target["per_user"]["listed"] = [{"user": "alice", "attempts": 800}, {"user": "bob", "attempts": 300}]
    names = Pseudonyms(["alice", "bob"], KEY)
    shown = pseudonymise(advised_report, names)["sizing"]["targets"]
    assert [row["user"] for row in shown[0]["per_user"]["listed"]] == [names.user("alice"), names.user("bob")]
    assert "alice" not in json.dumps(shown) and "bob" not in json.dumps(shown)
    assert pseudonymise(advised_report | {"sizing": None}, names)["sizing"] is None
