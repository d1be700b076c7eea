"""Names are cut to the room of their column, and keep both of their ends."""

import pytest

from audit.reporting.fitting import fitted, fitted_together, width


@pytest.mark.parametrize("text", ["train_llama_v#", "sacct-2026-05-01.txt", "Größe", ""])
def test_what_fits_stays_whole(text: str) -> None:
    assert fitted(text, width(text)) == text


@pytest.mark.parametrize("text", ["W" * 72, "i" * 500 + "END", "数" * 40, "\u202e" * 400, "a b " * 10_000])
@pytest.mark.parametrize("room", [59.0, 124.0])
def test_what_does_not_fit_is_cut_in_its_middle(text: str, room: float) -> None:
    shown = fitted(text, room)
    assert width(shown) <= room
    assert "…" in shown and "\u202e" not in shown
    assert shown.endswith("END") or "END" not in text


def test_a_line_is_as_long_as_its_letters() -> None:
    # At 10 points: three narrow letters of 3.4, a wide one of 8.5, an ideograph of 10.
    assert width("iiiW数", 10) == pytest.approx(28.7)


def test_names_that_share_a_line_leave_what_they_do_not_need_to_the_longer_ones() -> None:
    short, *long = fitted_together(["gpu", "a" * 60 + "1", "a" * 60 + "2"], 100.0)
    assert short == "gpu"
    assert [name[-1] for name in long] == ["1", "2"]
    # The rest is shared evenly, so no more than one letter of it is lost on each.
    assert 100.0 - 2 * width("a") < width(short) + sum(map(width, long)) <= 100.0
    assert fitted_together(["gpu", "physics"], 100.0) == ["gpu", "physics"]
