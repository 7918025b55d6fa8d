"""Plans of tools with given schemas, their stubs on disk, and the modules that come of them."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ferrule.contracts.language import Project, StubOutput, StubPlan
from ferrule.definitions.stubs.languages.python.language import LANGUAGE
from ferrule.definitions.stubs.plan import StubChoice, plan_stubs
from ferrule.model.tool import Tool, raw

FLAVOURS = LANGUAGE.flavours
PROJECT = Project(name="bench", version="1.0.0")


class Given(NamedTuple):
    """A tool to make stubs of."""

    name: str
    schema: Any
    output: Any = None
    description: str = ""


def tool_of(given: Given) -> Tool:
    """The tool."""
    return Tool(
        tool_id=f"bench.{given.name}",
        namespace="bench",
        name=given.name,
        description=given.description or "A tool.",
        lifecycle="available",
        tool_kind="function",
        dialect="agent_tool",
        input_schema=raw(given.schema),
        output_schema=None if given.output is None else raw(given.output),
    )


def plan_of(given: Iterable[Given], flavour: str, *, kind: Any = "client", project: Project = PROJECT) -> StubPlan:
    """The plan of some tools."""
    return plan_stubs([tool_of(each) for each in given], project, LANGUAGE, StubChoice(kind, False, flavour))


def written(given: Iterable[Given], flavour: str, **options: Any) -> StubOutput:
    """The stubs of some tools."""
    return LANGUAGE.write(plan_of(given, flavour, **options))


def write(folder: Path, stubs: StubOutput, package: str = "client") -> None:
    """The stubs on disk; a client's package may get a name of its own, so that several can be imported."""
    for file in stubs.files:
        path = folder / re.sub("^client/", f"{package}/", file.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")


class Modules:
    """The modules of a client's package, imported in this process and forgotten afterwards."""

    def __init__(self, folder: Path, stubs: StubOutput, package: str) -> None:
        self._package = package
        self._folder = str(folder)
        write(folder, stubs, package)
        sys.path.insert(0, self._folder)
        importlib.invalidate_caches()

    def __getitem__(self, stem: str) -> ModuleType:
        return importlib.import_module(f"{self._package}.{stem}")

    def forget(self) -> None:
        """Let go of them."""
        sys.path.remove(self._folder)
        for name in [each for each in sys.modules if each.split(".")[0] == self._package]:
            del sys.modules[name]


def ran(*command: str, cwd: Path, env: Mapping[str, str] | None = None, seconds: float = 240) -> tuple[int, str]:
    """How a program ended, and what it said."""
    done = subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, timeout=seconds, check=False, errors="replace"
    )
    return done.returncode, done.stdout + done.stderr


def program(name: str) -> str:
    """A program of this environment."""
    return str(Path(sys.executable).with_name(name))


def checked_by_mypy(folder: Path, *targets: str) -> tuple[int, str]:
    """mypy, strict, with a cache that is kept."""
    cache = Path(tempfile.gettempdir()) / "ferrule-tests-mypy"
    settings = ["--strict", "--config-file=", f"--cache-dir={cache}", "--no-error-summary"]
    return ran(program("mypy"), *settings, *targets, cwd=folder)


def ruff_objects(folder: Path) -> str:
    """What ruff's formatter and its linter say, with their own settings."""
    code, text = ran(program("ruff"), "format", "--isolated", "--no-cache", "--diff", ".", cwd=folder)
    lint, more = ran(program("ruff"), "check", "--isolated", "--no-cache", "--output-format=concise", ".", cwd=folder)
    return (text if code else "") + (more if lint else "")


def text_of(value: Any) -> str:
    """A value as JSON."""
    return json.dumps(value)


def names(values: Sequence[Given]) -> list[str]:
    """The names of some tools."""
    return [each.name for each in values]
