"""What must hold of any dump: nothing is lost, twice is once, and the order of files is of no matter."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.dumps import FIELDS, dump, job, read, rows, step, take, workspace

# Any text at all but half of a surrogate pair; the line feed, the delimiter and the quote more often than by chance.
NAME = st.text(
    st.one_of(st.sampled_from('|\n"\r\t\x00\x1f\u202e'), st.characters(exclude_categories=["Cs"])),
    max_size=20,
)
STATE = st.sampled_from(["COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "CANCELLED by 7", "RUNNING", "REQUEUED"])
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
FREE_FIRST = ["JobID", "JobIDRaw", "JobName", *FIELDS[2:-1]]


@st.composite
def records(draw: st.DrawFn) -> list[dict[str, str]]:
    found = []
    for job_id in draw(st.lists(st.integers(1, 60), max_size=12)):
        state = draw(STATE)
        end = "Unknown" if state == "RUNNING" else f"2026-05-05T09:{draw(st.integers(0, 59)):02d}:00"
        found.append(
            job(str(job_id), JobName=draw(NAME), State=state, End=end, Submit=f"2026-05-05T07:{job_id:02d}:00")
        )
        if draw(st.booleans()):
            found.append(step(str(job_id), MaxRSS=f"{draw(st.integers(0, 9999))}K", End=end))
    return found


@QUICK
@given(records(), st.sampled_from([FIELDS, FREE_FIRST]))
def test_every_record_is_an_attempt_a_step_or_a_reject(given: list[dict[str, str]], fields: list[str]) -> None:
    text = dump(*given, fields=fields)
    with tempfile.TemporaryDirectory() as folder:
        found = read(Path(folder) / "dump", text)
    numbered = {r["line"] for table in ("job_record", "step_record", "reject_record") for r in found[table]}
    kept = len(found["job_record"]) + len(found["step_record"])
    line = 2
    lost = 0
    for record in given:
        lines = dump(record, fields=fields, header=False).count("\n")
        lost += not numbered & set(range(line, line + lines))
        line += lines
    assert lost == 0
    assert kept <= len(given)
    assert {r["job_id"] for r in found["job_record"]} <= {r["JobID"] for r in given}


@settings(QUICK, max_examples=25)
@given(st.lists(records(), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_twice_is_once_and_order_is_of_no_matter(files: list[list[dict[str, str]]], random: object) -> None:
    texts = [dump(*records) for records in files]
    shuffled = list(texts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory() as folder:
        answers = []
        for name, order in (("a", texts), ("b", shuffled), ("c", texts + shuffled)):
            space = workspace(Path(folder) / name)
            take(space, *order)
            answers.append([rows(space, view) for view in ("job", "span", "step")])
    assert answers[0] == answers[1] == answers[2]
