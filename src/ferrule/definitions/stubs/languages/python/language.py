"""Python as a language of stubs."""

from __future__ import annotations

from msgspec.structs import replace

from ferrule.contracts.language import StubOutput, StubPlan
from ferrule.definitions.stubs.languages.python.client import write_client
from ferrule.definitions.stubs.languages.python.implementation import write_implementation
from ferrule.definitions.stubs.languages.python.project import next_steps, write_project
from ferrule.definitions.stubs.languages.python.records import KEYWORDS

_IMPORTED = """
    Annotated Any Awaitable BaseModel CallOptions Callable Caller Config ConfigDict Field Literal Mapping SERVICES TypeAlias
    TypedDict UNSET UnsetType Unpack
"""
_TAKEN = frozenset(["annotations", "dataclasses", "ferrule", "input", "logging", "msgspec", "registry", "str"])
"""What stands beside a tool's function or module, in words that a tool could be called by."""
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
"""No files on Windows."""


class Python:
    """Stubs in Python 3.11 and later."""

    name = "python"
    title = "Python"
    flavours: tuple[str, ...] = ("msgspec", "pydantic")
    reserved_types = frozenset(_IMPORTED.split()) | KEYWORDS
    reserved_endings: tuple[str, ...] = ()
    reserved_stems = KEYWORDS | _TAKEN | _DEVICES

    def write(self, plan: StubPlan) -> StubOutput:
        """Returns all files of a plan."""
        plan = replace(plan, flavour=plan.flavour or self.flavours[0])
        files, notes = write_client(plan) if plan.kind == "client" else write_implementation(plan)
        if plan.is_project:
            files += write_project(plan)
        return StubOutput(tuple(files), tuple(notes), next_steps(plan))


LANGUAGE = Python()
