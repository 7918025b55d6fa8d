"""Plans of tools in the language for tests."""

from __future__ import annotations

from typing import Any

from ferrule.contracts.language import StubPlan
from ferrule.definitions.stubs.plan import StubChoice, plan_stubs
from ferrule.definitions.stubs.project import make_project
from ferrule.model.tool import Tool
from tests.definitions.stubs.tiny import LANGUAGE


def planned(*tools: Tool, kind: Any = "implementation", manifests: Any = ()) -> StubPlan:
    """The plan of some tools."""
    project = make_project(tools, manifests, name="books", language="go", kind=kind)
    return plan_stubs(tools, project, LANGUAGE, StubChoice(kind))
