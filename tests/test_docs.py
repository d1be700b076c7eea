"""The documents that are made from the code are as the code is now, and nothing in it lacks its line there."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import audit
from audit.accounting.glossary import FIGURES, Figure
from audit.accounting.views import definitions

CHECKOUT = Path(__file__).resolve().parent.parent
DOCS = CHECKOUT / "docs"
ACCOUNTING = Path(audit.__file__).parent / "accounting"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_generated_documents_are_not_stale(generate: ModuleType) -> None:
    for name, text in generate.texts().items():
        # Words only: how a help text is broken into lines is a matter of the Python that runs.
        assert (DOCS / name).read_text(encoding="utf-8").split() == text.split(), f"{name}: run `make docs`"


def test_help_is_the_same_on_every_terminal(generate: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    made = generate.texts()["cli.md"]
    monkeypatch.setenv("COLUMNS", "40")
    assert generate.texts()["cli.md"] == made


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.key)
def test_every_figure_has_its_glossary_line(figure: Figure) -> None:
    assert figure.label
    assert figure.unit
    assert len(figure.meaning) > 6
    assert figure.meaning.endswith(".")
    assert figure.stated or (ACCOUNTING / "query" / f"explain_{figure.rows}.sql").is_file()


@pytest.mark.parametrize("path", sorted(ACCOUNTING.rglob("*.sql")), ids=lambda path: path.stem)
def test_every_relation_begins_with_its_definition(path: Path) -> None:
    assert re.match(rf"-- {path.stem}: \S", path.read_text(encoding="utf-8"))


def test_the_method_gives_every_definition_and_every_figure(generate: ModuleType) -> None:
    method = generate.texts()["method.md"]
    assert {name for name in definitions() if f"**{name}**: " not in method} == set()
    assert {f.key for f in FIGURES if not f.key.endswith("_per_month") and f"`{f.key}`" not in method} == set()


def test_a_sceptic_finds_each_question_answered() -> None:
    questions = re.findall(r"^## (.+\?)\n\n(\S.+)", (DOCS / "sceptic.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(questions) >= 12
    assert len({question for question, _ in questions}) == len(questions)


def test_what_the_documents_link_to_is_there() -> None:
    for path in DOCS.glob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
            assert (DOCS / target).exists(), f"{path.name}: {target}"
