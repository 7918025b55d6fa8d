"""Reports in JSON hold the documented members and no others."""

from __future__ import annotations

import json

from ferrule.definitions.reporters.json import REPORTER as JSON
from tests.definitions.reporters.sample import REPORT, surroundings


def test_json_has_exactly_the_documented_members() -> None:
    written = json.loads("".join(JSON.write(REPORT, surroundings())))
    assert list(written) == ["diagnostics", "summary"]
    members = ["rule", "severity", "path", "file", "line", "column", "end_line", "end_column", "message", "hint", "url"]
    assert all(list(found) == members for found in written["diagnostics"])
    assert list(written["summary"]) == ["files", "tools", "errors", "warnings", "infos", "seconds"]
