"""Golden files of the catalog. `FERRULE_WRITE_GOLDEN=1` writes them anew."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ferrule.contracts.language import Injected, Section, Service
from ferrule.definitions.stubs.languages.rust.language import LANGUAGE
from tests.definitions.stubs.languages.nasty import CASES
from tests.definitions.stubs.languages.rust.crates import Given, planned

_FOLDER = Path(__file__).parent / "golden"
_WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Where.", "minLength": 1},
        "unit": {"enum": ["celsius", "fahrenheit"], "default": "celsius"},
    },
    "required": ["city"],
    "additionalProperties": False,
}
_FORECAST = {"type": "object", "properties": {"degrees": {"type": "number"}}, "required": ["degrees"]}


def _made() -> dict[str, str]:
    inject = (Injected("logger"), Injected("section", "limits"), Injected("service", "stations"))
    given = [
        Given(
            "get_weather",
            _WEATHER,
            _FORECAST,
            "Tells the weather.\nNow, not tomorrow.",
            inject,
            "Get weather",
            ("weather",),
        ),
        Given(
            "read",
            {"type": "object", "properties": {"file_path": {"type": "string"}}},
            None,
            "Read a file.",
            builtin="read",
        ),
    ]
    about: dict[str, Any] = {
        "is_project": True,
        "description": "Weather for everybody.",
        "services": (
            Service(name="stations", interface="Stations", factory="NewStations", description="Who measures."),
        ),
        "sections": (Section(name="limits", settings={"days": 3, "key": "$WEATHER_KEY"}),),
    }
    files = list(LANGUAGE.write(planned(given, **about)).files)
    files += LANGUAGE.write(planned([given[0]._replace(inject=())], "client")).files
    nasty = LANGUAGE.write(planned([Given(case.name, case.schema) for case in CASES])).files
    files += [each for each in nasty if each.path.startswith("src/tools/generated/") and each.tool_id]
    return {each.path: each.text for each in files if "/support/" not in each.path}


def test_stubs_are_as_the_golden_files_say() -> None:
    """ADL-46: the file of a tool has `descriptor()` and `handle(…)`, and `src/tools/mod.rs` has `all()`. ADL-47: its types."""
    made = _made()
    if os.environ.get("FERRULE_WRITE_GOLDEN"):
        for path, text in made.items():
            (_FOLDER / path).parent.mkdir(parents=True, exist_ok=True)
            (_FOLDER / path).write_text(text, encoding="utf-8")
    kept = {str(path.relative_to(_FOLDER)): path.read_text("utf-8") for path in _FOLDER.rglob("*") if path.is_file()}
    assert made.keys() == kept.keys()
    assert [path for path, text in made.items() if text != kept[path]] == []
