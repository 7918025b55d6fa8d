"""Generated TypeScript on disk, compiled once, and a program that tests ask what it makes of values."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ferrule.contracts.language import Project, SourceFile, StubPlan
from ferrule.definitions.stubs.languages.typescript.definitions import name_variables
from ferrule.definitions.stubs.languages.typescript.language import LANGUAGE
from ferrule.definitions.stubs.plan import StubChoice, plan_stubs
from ferrule.model.tool import Tool
from tests.definitions.stubs.languages.toolchains import node, node_modules, prettier, tsc

HERE = Path(__file__).parent
OPTIONS = {
    "target": "ES2022",
    "module": "NodeNext",
    "lib": ["ES2022"],
    "types": ["node"],
    "strict": True,
    "noUncheckedIndexedAccess": True,
    "exactOptionalPropertyTypes": True,
    "noImplicitOverride": True,
    "noImplicitReturns": True,
    "noFallthroughCasesInSwitch": True,
    "noPropertyAccessFromIndexSignature": True,
    "noUnusedLocals": True,
    "verbatimModuleSyntax": True,
    "isolatedModules": True,
    "erasableSyntaxOnly": True,
    "skipLibCheck": True,
    "rootDir": ".",
    "outDir": "dist",
}
"""More than the projects ask for: generated files have to please people who are stricter."""


_PLAIN = StubChoice()


class Answer(NamedTuple):
    """What the program said of a value."""

    is_fine: bool
    value: Any
    error: str


def tool_of(name: str, schema: Any, output: Any = None, **said: Any) -> Tool:
    """A tool that takes what a schema says."""
    return Tool(
        tool_id=said.pop("tool_id", f"shop.{name}"),
        namespace=said.pop("namespace", "shop"),
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
    return plan_stubs(tools, project or Project(name="shop", version="1.0.0"), LANGUAGE, choice)


def written(folder: Path, files: Iterable[SourceFile]) -> Path:
    """The files, on disk."""
    for file in files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8", newline="")
    return folder


def linked(folder: Path) -> None:
    """The packages that stubs import, as if `npm install` had run."""
    if not (folder / "node_modules").exists():
        (folder / "node_modules").symlink_to(node_modules())


def compiled(folder: Path, **options: Any) -> None:
    """What is in a folder, compiled to `dist`. Fails with what the compiler says."""
    linked(folder)
    (folder / "package.json").write_text('{ "type": "module" }\n')
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": {**OPTIONS, **options}, "exclude": ["dist"]}))
    tsc().run("-p", ".", cwd=folder)


def unformatted(folder: Path) -> str:
    """The files that Prettier would change; empty where there are none."""
    return prettier().run("--list-different", ".", cwd=folder)


class Workshop:
    """Tools, compiled. Their inputs can be parsed and written again."""

    def __init__(self, folder: Path, tools: Sequence[Tool], flavour: str, programs: dict[str, str]) -> None:
        self.folder = folder
        self.plan = planned(tools, StubChoice(is_project=True, flavour=flavour))
        written(folder, LANGUAGE.write(self.plan).files)
        for path, text in programs.items():
            (folder / path).write_text(text, encoding="utf-8")
        compiled(folder)
        count = Counter(each.name for each in self.plan.tools)
        self.stems = {each.name: each.stem for each in self.plan.tools if count[each.name] == 1}
        """Files of tools, by the names that one tool alone has."""

    def trips(self, pairs: Sequence[tuple[str, Any]]) -> list[Answer]:
        """What values become that are parsed and written again, each by the tool of a name."""
        named = name_variables(self.plan)
        lines = "".join(
            json.dumps({"stem": (stem := self.stems[name]), "variable": named[stem], "text": json.dumps(value)}) + "\n"
            for name, value in pairs
        )
        program = str(HERE / "programs" / "trip.mjs")
        said = node().run(program, str(self.folder / "dist" / "src"), cwd=HERE, stdin=lines.encode()).split("\n")[:-1]
        return [Answer(told["error"] is None, told["value"], told["error"] or "") for told in map(json.loads, said)]
