"""Every format's exact output. After a deliberate change run with FERRULE_UPDATE_GOLDEN=1 and read the diff."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ferrule.contracts.registry import Registry
from ferrule.contracts.reporter import Reporter
from ferrule.definitions.reporters.builtin import REPORTERS
from tests.definitions.reporters.sample import CLEAN, REPORT, surroundings

GOLDEN = Path(__file__).parent / "golden"
REGISTRY: Registry[Reporter] = Registry("shape", REPORTERS)


def _compare(name: str, text: str) -> None:
    file = GOLDEN / name
    if os.environ.get("FERRULE_UPDATE_GOLDEN"):
        file.write_bytes(text.encode())
    assert text.encode() == file.read_bytes()


@pytest.mark.parametrize("shape", REPORTERS)
def test_problems_are_shown_as_recorded(shape: str) -> None:
    _compare(f"problems.{shape}", "".join(REGISTRY.get(shape).write(REPORT, surroundings())))


@pytest.mark.parametrize("shape", REPORTERS)
def test_a_clean_report_is_shown_as_recorded(shape: str) -> None:
    _compare(f"clean.{shape}", "".join(REGISTRY.get(shape).write(CLEAN, surroundings())))


def test_a_terminal_gets_colours() -> None:
    _compare("problems.colour", "".join(REGISTRY.get("text").write(REPORT, surroundings(has_colour=True))))
