"""A public class name means one thing in the whole tree: a search for it leads to one place."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests import ROOT

SHARED = {
    "Caller": "generated Python stubs import the one of ferrule.adapters.callers; the other is who calls a server",
    "UnsoundSchema": "two standards have a rule of this name, and a rule's class is named for its rule",
}
"""The names that stand in two places, and why that misleads nobody."""


def test_a_public_class_name_stands_in_one_place() -> None:
    places = defaultdict(list)
    for path in sorted((ROOT / "src" / "ferrule").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert {name: where for name, where in places.items() if len(where) > 1 and name not in SHARED} == {}
    # A name that stands once needs no exception any more.
    assert not {name for name in SHARED if len(places[name]) < 2}
