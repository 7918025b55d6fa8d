"""One program of many generated tools, compiled once, that tests ask what their types make of values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ferrule.contracts.language import Project, SourceFile, StubPlan
from ferrule.definitions.stubs.languages.go.language import LANGUAGE
from ferrule.definitions.stubs.plan import StubChoice, plan_stubs
from ferrule.model.tool import Tool
from tests.definitions.stubs.languages.toolchains import Tool as Program
from tests.definitions.stubs.languages.toolchains import go, gofmt

_PLAIN = StubChoice()
PROGRAMS = Path(__file__).with_name("programs")


class Answer(NamedTuple):
    """What the program said."""

    is_fine: bool
    value: Any
    error: str
    invalid: str
    """What `Validate` said."""


def tool_of(name: str, schema: Any, output: Any = None, **said: Any) -> Tool:
    """A tool that takes what a schema says."""
    return Tool(
        tool_id=said.pop("tool_id", f"bench.{name}"),
        namespace="bench",
        name=name,
        description=said.pop("description", "Tried in a test."),
        lifecycle="active",
        tool_kind="function",
        dialect=said.pop("dialect", "aml"),
        input_schema=msgspec.Raw(msgspec.json.encode(schema)),
        output_schema=None if output is None else msgspec.Raw(msgspec.json.encode(output)),
        **said,
    )


def planned(tools: Sequence[Tool], choice: StubChoice = _PLAIN, project: Project | None = None) -> StubPlan:
    """The plan of some tools."""
    return plan_stubs(tools, project or Project(name="bench", version="1.0.0"), LANGUAGE, choice)


def written(folder: Path, files: Iterable[SourceFile]) -> Path:
    """The files, on disk."""
    for file in files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    return folder


def unformatted(folder: Path) -> str:
    """The files that gofmt would change."""
    return gofmt().run("-l", ".", cwd=folder)


class Workbench:
    """The program. Its tools' input types can be asked for by the tools' names."""

    def __init__(self, folder: Path, tools: Sequence[Tool]) -> None:
        made = planned(tools, StubChoice(is_project=True))
        self.folder = written(folder, LANGUAGE.write(made).files)
        (folder / "tools" / "workbench.go").write_text((PROGRAMS / "workbench.go").read_text())
        entries = "".join(f"\ttrips[{json.dumps(each.name)}] = trip[{each.type_name}Input]\n" for each in made.tools)
        trips = f"package tools\n\nfunc init() {{\n{entries}}}\n"
        (folder / "tools" / "trips.go").write_text(trips)
        (folder / "main.go").write_text('package main\n\nimport "bench/tools"\n\nfunc main() {\n\ttools.Answer()\n}\n')
        go().run("build", "-trimpath", "-gcflags=bench/...=-N -l", "-ldflags=-s -w", "-o", "workbench", ".", cwd=folder)
        self._program = Program((str(folder / "workbench"),), {})

    def ask(self, questions: Sequence[dict[str, Any]]) -> list[Answer]:
        """The answers, in order."""
        lines = "".join(json.dumps(each) + "\n" for each in questions)
        said = self._program.run(cwd=self.folder, stdin=lines.encode()).splitlines()
        assert len(said) == len(questions)
        return [_answer(json.loads(line)) for line in said]

    def calls(self, pairs: Sequence[tuple[str, Any]]) -> list[Answer]:
        """What tools that nobody has written say to an input."""
        return self.ask([{"name": name, "value": json.dumps(value), "is_call": True} for name, value in pairs])

    def trips(self, pairs: Sequence[tuple[str, Any]]) -> list[Answer]:
        """What values become that are decoded and encoded again."""
        return self.ask([{"name": name, "value": json.dumps(value)} for name, value in pairs])


def _answer(told: dict[str, Any]) -> Answer:
    return Answer(told["is_fine"], json.loads(told["value"]) if told["value"] else None, told["error"], told["invalid"])
