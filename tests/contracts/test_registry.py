"""A shelf finds its parts by name, loads them late, and joins those that other packages register."""

from __future__ import annotations

import sys
from collections import OrderedDict
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from ferrule.contracts import registry
from ferrule.contracts.registry import Registry, late
from ferrule.errors import SettingsError

GROUP = "shapes"


def points(monkeypatch: pytest.MonkeyPatch, *names: str) -> list[str]:
    """Registers parts of other packages; gives a list of the groups that were asked for."""
    asked: list[str] = []

    def found(group: str) -> list[EntryPoint]:
        asked.append(group)
        return [EntryPoint(name, "collections:Counter", group) for name in names]

    monkeypatch.setattr(registry, "_entry_points", found)
    return asked


def test_a_part_is_found_by_its_name() -> None:
    shelf = Registry[Any]("shape", {"ordered": "collections:OrderedDict", "plain": "builtins:dict"})
    assert shelf.get("ordered") is OrderedDict
    assert shelf.names() == ("ordered", "plain") and list(shelf) == [OrderedDict, dict]


def test_an_unknown_name_is_told_with_those_that_are_known() -> None:
    with pytest.raises(SettingsError, match="unknown shape 'round'; known: a, b"):
        Registry[Any]("shape", {"b": "x:y", "a": "x:y"}).get("round")


def test_a_part_that_nobody_asks_for_is_not_loaded() -> None:
    shelf = Registry[Any]("shape", {"odd": "this_module_does_not_exist:Odd", "plain": "builtins:dict"})
    assert shelf.get("plain") is dict and "odd" in shelf.names()
    assert "this_module_does_not_exist" not in sys.modules
    with pytest.raises(ModuleNotFoundError):
        shelf.get("odd")


def test_parts_of_other_packages_come_after_our_own_and_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = points(monkeypatch, "counted")
    shelf = Registry[Any]("shape", {"plain": "builtins:dict"}, GROUP)
    assert asked == []
    assert shelf.names() == ("plain", "counted") and shelf.get("counted").__name__ == "Counter"
    assert asked == [GROUP]


def test_a_name_that_two_packages_claim_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    points(monkeypatch, "plain")
    with pytest.raises(SettingsError, match="two packages register the shape 'plain'; uninstall one of them"):
        Registry[Any]("shape", {"plain": "builtins:dict"}, GROUP).get("plain")


def test_a_late_function_is_imported_when_it_is_called() -> None:
    missing = late("this_module_does_not_exist:run")
    with pytest.raises(ModuleNotFoundError):
        missing()
    assert late("textwrap:shorten")("a b c", width=3, placeholder="") == "a b"
