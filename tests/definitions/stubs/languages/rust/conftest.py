"""One crate with all the stubs that are tried, compiled once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from random import Random
from typing import Any, NamedTuple

import pytest

from ferrule.contracts.language import StubPlan
from tests.definitions.stubs.languages.nasty import CASES
from tests.definitions.stubs.languages.rust.crates import Given, built, echo_main, library, planned, talked
from tests.definitions.stubs.languages.rust.hostile import tools
from tests.schema.fitting.schemas import schema_of

RANDOM = {f"random {seed}": schema_of(Random(seed)) for seed in range(40)}
"""Schemas of every kind."""
HOSTILE = tools(11, 20)
_INTEGER = {"type": "integer"}
INTEGERS = {
    "type": "object",
    "properties": {
        "list": {"type": "array", "items": _INTEGER},
        "unsigned": {"type": "integer", "minimum": 0, "maximum": 2**70},
        "mixed": {"type": "integer", "maximum": 2**70},
        "either": {"anyOf": [_INTEGER, {"type": "array", "items": _INTEGER}]},
        "pair": {"type": "array", "prefixItems": [_INTEGER, _INTEGER]},
        "deep": {"type": "object", "properties": {"a~/": {"type": ["integer", "null"]}}},
        "tagged": {
            "oneOf": [
                {"type": "object", "properties": {"kind": {"const": kind}, "n": _INTEGER}, "required": ["kind"]}
                for kind in ("one", "two")
            ]
        },
        "number": {"type": "number"},
    },
    "additionalProperties": _INTEGER,
}
"""Integers wherever they can stand."""


class Tried(NamedTuple):
    """A program that decodes, encodes and checks."""

    program: Any
    plan: StubPlan

    def stem(self, name: str) -> str:
        """The module of a tool."""
        return next(tool.stem for tool in self.plan.tools if tool.name == name)

    def answers(self, lines: Iterable[Any]) -> list[Any]:
        """What it says to each line."""
        return talked(self.program, lines)


@pytest.fixture(scope="session")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Tried:
    """The catalog, random schemas and hostile tools in one program."""
    given = [Given(case.name, case.schema) for case in CASES]
    given += [Given(name, schema) for name, schema in RANDOM.items()]
    given.append(Given("integers", INTEGERS))
    name = f"tried_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
    plan = planned([*given, *HOSTILE])
    folder = tmp_path_factory.mktemp("tried")
    library(plan, folder, echo_main(plan, name), name)
    return Tried(built(folder, name), plan)
