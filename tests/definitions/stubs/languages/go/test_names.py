"""Names in Go: of files that are compiled everywhere, and what support files declare."""

from __future__ import annotations

import pytest

from ferrule.contracts.language import Project, Service
from ferrule.definitions.stubs.languages.go.language import LANGUAGE
from ferrule.definitions.stubs.languages.go.names import list_support_names, lower_first, safe_stem
from tests.definitions.stubs.languages.go.compiled_program import planned, tool_of


@pytest.mark.parametrize(
    ("stem", "safe"),
    [
        ("get_weather", "get_weather"),
        ("linux", "linux"),
        ("get_windows", "get_windows_go"),
        ("a_linux_amd64", "a_linux_amd64_go"),
        ("x_test", "x_test_go"),
        ("x_gen", "x_gen_go"),
        ("x_go", "x_go_go"),
    ],
)
def test_a_file_is_compiled_everywhere(stem: str, safe: str) -> None:
    assert safe_stem(stem) == safe


@pytest.mark.parametrize("name", ["aux", "con", "nul", "prn", "com1", "lpt9"])
def test_no_file_is_called_what_windows_takes_for_something_else(name: str) -> None:
    service = Service(name=name, interface="X", factory="NewX")
    plan = planned([tool_of(name, {"type": "object"})], project=Project(name="x", version="1", services=(service,)))
    parts = {part.partition(".")[0] for file in LANGUAGE.write(plan).files for part in file.path.split("/")}
    assert name not in parts
    assert any(part.startswith(name) for part in parts)


def test_names_of_support_files_are_known() -> None:
    assert {
        "Optional",
        "Serve",
        "viaFerrule",
        "mcpServer",
        "object",
        "result",
        "Client",
        "call",
    } <= list_support_names()


@pytest.mark.parametrize(
    ("name", "lower"),
    [
        ("GetUser", "getUser"),
        ("URLFetcher", "urlFetcher"),
        ("ID", "id"),
        ("DB2", "db2"),
        ("A", "a"),
        ("GetURL", "getURL"),
    ],
)
def test_an_acronym_is_lowered_as_a_whole(name: str, lower: str) -> None:
    assert lower_first(name) == lower
