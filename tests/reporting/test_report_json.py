"""report.json is what its schema says: every key described, every unit named, NULL only where the schema allows it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from audit.accounting.glossary import schema
from audit.reporting.pseudonyms import Pseudonyms, pseudonymise

Report = dict[str, Any]
NUMBERS = {"number", "integer"}
REPORTS = ("report", "cpu_report", "unmeasured_report", "unbundled_report", "short_report", "hostile_report")


def faults(report: Report) -> list[str]:
    """What is wrong with a report, each with its place."""
    return [f"{error.json_path}: {error.message}" for error in Draft202012Validator(schema()).iter_errors(report)]


def written(report: Report) -> Report:
    """The report as a file has it."""
    return json.loads(json.dumps(pseudonymise(report, Pseudonyms((), None))))


def places(part: dict[str, Any], key: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key of the schema with what is said of it, those of rows of lists included."""
    for name, inner in part.get("properties", {}).items():
        yield f"{key}.{name}", inner
        yield from places(inner, f"{key}.{name}")
    if "items" in part:
        yield from places(part["items"], f"{key}[]")


@pytest.mark.parametrize("name", REPORTS)
def test_every_kind_of_report_is_valid(name: str, request: pytest.FixtureRequest) -> None:
    assert faults(written(request.getfixturevalue(name))) == []


def test_the_schema_is_one_and_its_name_is_stable(report: Report) -> None:
    Draft202012Validator.check_schema(schema())
    assert schema()["$id"] == report["schema"] == "audit-report/1"


def test_every_key_has_a_description_and_every_number_a_unit() -> None:
    for key, said in [*places(schema()), *schema()["$defs"].items()]:
        told = {**schema()["$defs"].get(said.get("$ref", "").rpartition("/")[2], {}), **said}
        assert told.get("description"), key
        kinds = set([told["type"]] if isinstance(told.get("type"), str) else told.get("type", []))
        assert not kinds & NUMBERS or told.get("unit"), key


def test_objects_take_no_other_keys_and_lack_none() -> None:
    for key, said in places(schema()):
        if "properties" in said:
            assert said["additionalProperties"] is False, key
            missing = set(said["properties"]) - set(said["required"])
            assert missing == ({"node_class", "resource"} if key == ".prices" else set()), key


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("cost", "held_usd"), None),
        (("attempts",), None),
        (("attempts",), 1.5),
        (("coverage", "usd"), 1.2),
        (("cost", "mode"), "guessed"),
        (("lost", 0, "cause"), "CANCELLED"),
        (("window", "extra"), 1),
        (("families", 0, "account"), 7),
        (("schema",), "audit-report/2"),
    ],
)
def test_what_a_report_must_not_say_is_refused(report: Report, path: tuple[str | int, ...], value: object) -> None:
    place: Any = (whole := written(report))
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert faults(whole)
