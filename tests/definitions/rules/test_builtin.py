"""Rules with a class: file, class and rule share one name."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from ferrule.contracts.rule import info_of
from ferrule.definitions import rules
from ferrule.workspace.parts import list_rule_pages

SUMMARIES = {(page.code, page.summary) for page in list_rule_pages()}


def rule_classes(module: ModuleType) -> list[Any]:
    found = [one for _, one in inspect.getmembers(module, inspect.isclass) if one.__module__ == module.__name__]
    return [one for one in found if hasattr(one, "code")]


MODULES = [import_module(found.name) for found in pkgutil.walk_packages(rules.__path__, f"{rules.__name__}.")]
NAMES = {(rule.code, rule.__name__) for module in MODULES for rule in rule_classes(module)}


def documented_rules(module: ModuleType) -> list[Any]:
    """The classes of a module whose docstring is a rule's page; others add findings to a rule documented elsewhere."""
    return [one for one in rule_classes(module) if (one.code, info_of(one).summary) in SUMMARIES]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.partition(".rules.")[2])
def test_file_class_and_rule_share_a_name(module: ModuleType) -> None:
    documented = documented_rules(module)
    for rule in documented:  # of two classes that report one rule, one bears its name
        assert (rule.code, "".join(word.capitalize() for word in rule.name.split("-"))) in NAMES
    if documented and len(rule_classes(module)) == 1 and "check" in vars(documented[0]):
        assert module.__name__.rpartition(".")[2] == documented[0].name.replace("-", "_")


def test_every_rule_with_a_class_is_found() -> None:
    assert sum(len(documented_rules(module)) for module in MODULES) > 70
