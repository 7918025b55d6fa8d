"""Whatever tools, services and settings are called, every language finds a place for each file."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ferrule.contracts.language import StubKind
from ferrule.definitions.stubs.languages.builtin import LANGUAGES
from ferrule.definitions.stubs.runs import StubRequest
from ferrule.workspace.stubs import Material, generate
from tests.definitions.stubs.tools import manifest, tool

ODD = [
    "all",
    "index",
    "mod",
    "main",
    "Config",
    "config",
    "test",
    "type",
    "self",
    "con",
    "a b",
    "A",
    "a",
    "é",
    "",
    "../x",
    "x_gen",
]
NAMES = st.one_of(
    st.sampled_from(ODD), st.text(max_size=6), st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,5}", fullmatch=True)
)
SYMBOLS = st.from_regex(r"[a-zA-Z][a-zA-Z0-9_]{0,6}", fullmatch=True)
SERVICES = st.dictionaries(NAMES, st.fixed_dictionaries({"interface": SYMBOLS, "factory": SYMBOLS}), max_size=4)
CONFIG = st.dictionaries(
    NAMES, st.dictionaries(NAMES, st.one_of(st.text(max_size=4), st.integers(), st.none())), max_size=3
)


@pytest.mark.parametrize("kind", ["implementation", "client"])
@pytest.mark.parametrize("name", LANGUAGES.names())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(NAMES, unique=True, max_size=4), SERVICES, CONFIG)
def test_any_names_have_files(
    name: str, kind: StubKind, tools: list[str], services: dict[str, Any], config: dict[str, Any]
) -> None:
    inject = ["logger", "config", *services, *(f"config.{section}" for section in config)]
    payload = {"tool": {"inject": inject}}
    agent = manifest(services=services, config=config)
    made = generate(
        Material([tool(each, namespace="clerk", dialect="adl", payload=payload) for each in tools], "books", [agent]),
        StubRequest(language=name, kind=kind, is_project=True),
        LANGUAGES.get(name),
    )
    for file in made.files:
        assert file.text.endswith("\n")
        file.text.encode()
