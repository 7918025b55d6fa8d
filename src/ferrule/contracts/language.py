"""The contract of a language of stubs: tools with their types in, source files out.

`definitions/stubs/` makes the plan and manages the files on disk; a language only writes text. The language's own
formatter leaves that text as it is, and it depends on nothing but the plan.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal, NamedTuple, Protocol

import msgspec

from ferrule.contracts.type_tree import TypeNote, TypeTree
from ferrule.model.value import JsonValue

InjectedKind = Literal["logger", "config", "section", "service"]
StubKind = Literal["implementation", "client"]
Standing = Literal["generated", "yours"]


class Injected(msgspec.Struct, frozen=True):
    """A dependency passed to a tool when it is made (ADL `inject`)."""

    kind: InjectedKind
    name: str = ""
    """Of the section or the service, as the agent file writes it."""


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """A service of the agent (ADL `spec.services`): passed to tools, and made by a factory."""

    name: str
    interface: str
    """The name of its type: `Database`."""
    factory: str
    """The constructor's name, in Pascal case: `NewDatabase`."""
    description: str = ""
    type: str = "service"
    """`service`, `repository`, `client` or `middleware` (ADL-34)."""


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A group of settings (ADL `spec.config.<name>`)."""

    name: str
    settings: Mapping[str, JsonValue]
    """What is set, with the value the agent file gives. A text `$NAME` or `${NAME}` is an environment variable."""


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that all stubs of one run share."""

    name: str
    """Of the agent, or of the workspace."""
    version: str
    description: str = ""
    module: str = ""
    """The agent file's name for the Go module or the package (ADL `spec.language`); empty where it has none."""
    language_version: str = ""
    """The version of the language that the agent file names; empty where it names none."""
    services: tuple[Service, ...] = ()
    """In the order of the agent file. All of them, injected or not."""
    sections: tuple[Section, ...] = ()
    acronyms: frozenset[str] = frozenset()
    """Lower-case words that are written in capitals, the usual ones included (ADL-42)."""


class ToolPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One tool, ready to be written."""

    tool_id: str
    name: str
    """What a caller calls it by."""
    stem: str
    """What its files are called: lower-case letters, digits and `_`, a letter first; no other tool of the plan has it."""
    type_name: str
    """Pascal case (ADL-42), the beginning of its types' names: `GetUserID`. No other tool of the plan has it."""
    title: str
    description: str
    tags: tuple[str, ...] = ()
    version: str = ""
    digest: str
    """`sha256:…` of the definition."""
    contract: str
    """Eight hex digits that change with the types and limits of input and output, and with `inject`."""
    input: TypeTree
    output: TypeTree | None
    """None where the tool says nothing of its result: any JSON value."""
    input_schema: msgspec.Raw
    output_schema: msgspec.Raw | None
    inject: tuple[Injected, ...] = ()
    builtin: str = ""
    """The reserved id of a tool that comes along with Ferrule (ADL-18); empty for any other."""
    builtin_config: Mapping[str, JsonValue] = {}


class StubPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The stubs to write."""

    kind: StubKind
    project: Project
    tools: tuple[ToolPlan, ...]
    """In the order of the definitions."""
    is_project: bool = False
    """Also what makes it a project that builds and runs by itself."""
    flavour: str = ""
    """One of the language's flavours; the first where nobody chose."""
    place: str = ""
    """The relative path from the workspace of the definitions to the output folder, where one contains the other; `.`
    where they are the same."""

    def workspace_path(self, path: str) -> str:
        """Returns a path of the output folder as seen from the workspace of the definitions."""
        return f"./{self.place}/{path}" if self.place not in ("", ".") else f"./{path}"

    def program_settings(self, name: str, *command: str) -> str:
        """Returns the lines of `ferrule.toml` that let a program do the work of the tools."""
        ids = [json.dumps(tool.tool_id, ensure_ascii=False) for tool in self.tools if not tool.builtin]
        listed = "".join(f"  {each},\n" for each in ids)
        return f"[mcp.programs.{json.dumps(name)}]\ncommand = {json.dumps(command)}\ntools = [\n{listed}]\n"


class SourceFile(NamedTuple):
    """A file to write."""

    path: str
    """From the output folder, with `/`."""
    text: str
    """Ends with a line end. A generated file begins with a comment that says so, and of which tool and digest."""
    standing: Standing
    """`generated` files are written anew each time; `yours` are written once and then belong to a person."""
    tool_id: str = ""
    """The tool it belongs to; empty for a file that all share."""


class ToolNote(NamedTuple):
    """A place where a language could not express a type as exactly as the schema."""

    tool_id: str
    note: TypeNote


class NextStep(NamedTuple):
    """A step for the user after stubs were written."""

    words: str
    is_command: bool = True
    """True for a command to run in the output folder."""


class StubOutput(NamedTuple):
    """The stubs of a plan."""

    files: tuple[SourceFile, ...]
    notes: tuple[ToolNote, ...] = ()
    """The language's own; those of the trees are reported already."""
    steps: tuple[NextStep, ...] = ()
    """What to do next, once what the tools do is written."""


class Language(Protocol):
    """One language. Stateless; shared between threads.

    It may also have `reserved_beginnings: tuple[str, ...]`: what is put before a tool's type name in names that stubs declare,
    such as `New` where a tool `Get` has a `NewGetTool`; and `module_in(read) -> str`: the name of the module or package that the
    output folder has by now, where persons may change it. `read` gives the content of a file, or None.
    """

    name: str
    """What `ferrule gen` takes: `go`, `typescript`, `rust`, `python`."""
    title: str
    """What people call it."""
    flavours: tuple[str, ...]
    """What its types can be made of, the default first; empty where there is one way."""
    reserved_types: frozenset[str]
    """Names of types that no tree may use: keywords, and what the support files declare."""
    reserved_endings: tuple[str, ...]
    """What is put after a tool's type name in names that stubs declare, beside `Input` and `Output`: `Tool`, `Handler`, …"""
    reserved_stems: frozenset[str]
    """Names of files that no tool may have."""

    def write(self, plan: StubPlan) -> StubOutput:
        """Writes all files of a plan."""
        ...
