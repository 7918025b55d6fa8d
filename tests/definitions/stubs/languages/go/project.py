"""A project with everything a project can have, hostile names included, compiled once."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from ferrule.contracts.language import Injected, Project, Section, Service, StubPlan
from ferrule.definitions.stubs.languages.go.language import LANGUAGE
from ferrule.definitions.stubs.plan import StubChoice
from ferrule.model.value import JsonValue
from tests.definitions.stubs.languages.go.compiled_program import PROGRAMS, planned, tool_of, written
from tests.definitions.stubs.languages.toolchains import go

HOSTILE = (
    "main",
    "init",
    "type",
    "object",
    "result",
    "read",
    "a-b",
    "a_b",
    "db_linux",
    "x_test",
    "vendor",
    "tool",
    "calling",
    "greetTool",
    "日本",
)
_GREET_TAKES = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "mood": {"enum": ["glad", "grim"]}},
    "required": ["name"],
    "additionalProperties": False,
}
_GREET_GIVES = {
    "type": "object",
    "properties": {"words": {"type": "array", "items": {"type": "string"}, "minItems": 1}, "mood": {"enum": ["glad", "grim"]}},
    "required": ["words"],
}  # fmt: skip
_SAY_TAKES = {"type": "object", "properties": {"text": {"type": "string"}}}
_READ_TAKES = {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]}


def _services() -> tuple[Service, ...]:
    plain = Service(name="shop", interface="Shop", factory="NewShop", description="The shop.\n# Not a heading")
    odd = [Service(name=name, interface='"; }', factory="`", description="*/\nx") for name in HOSTILE]
    return (
        plain,
        *odd,
        Service(name="same", interface="Same", factory="Same"),
        Service(name="bare", interface="", factory=""),
    )


def _sections() -> tuple[Section, ...]:
    settings: dict[str, JsonValue] = {"from": "${MAIL_FROM}", "n": 3, "big": 2**70, "x": 1.5, "is_on": True}
    settings |= {"list": [1, "`"], "none": None, "a b": "$X", "a_b": "\n", "price": "$5 or json.Number(5)"}
    settings |= {"url": "http://${MAIL_HOST}:80/${MAIL_PATH:-d}", "port": "${MAIL_PORT:-25}", "empty": "${MAIL_NONE-}"}
    names = Section(name="", settings={"": 1})
    inner: dict[str, JsonValue] = {
        "server": {
            "hosts": ["a", "${MAIL_HOST}"],
            "tls": {"on": False},
            "rates": [1, 2.5],
            "any": [None, "$MAIL_FROM"],
        },
        "nothing": {},
    }
    return (
        Section(name="mail", settings=settings),
        Section(name="Mail", settings={}),
        names,
        Section(name="nested", settings=inner),
        Section(name="nested_server", settings={"x": 1}),
    )


def project_plan() -> StubPlan:
    """The plan."""
    services, sections = _services(), _sections()
    project = Project(
        name="Book `shop`", version="0.3.0", description="Sells\nbooks", services=services, sections=sections
    )
    made = planned(
        [
            tool_of("greet", _GREET_TAKES, _GREET_GIVES, title="Greet", version="2.0.0", tags=("a`b", "c")),
            tool_of("loose", {"type": "object", "properties": {"n": {"type": "integer", "maximum": 2**70}}}),
            tool_of("read", _READ_TAKES, dialect="adl"),
            tool_of("say", _SAY_TAKES, {"type": ["string", "null"]}),
        ],
        StubChoice(is_project=True),
        project,
    )
    inject = [Injected("logger"), Injected("config")]
    inject += [Injected("section", name) for name in ("mail", "Mail", "nowhere")]
    inject += [Injected("service", each.name) for each in services]
    tools = (made.tools[0], msgspec.structs.replace(made.tools[1], inject=tuple(inject)), *made.tools[2:])
    return msgspec.structs.replace(made, tools=tools)


def write_project(folder: Path) -> Path:
    """The project, with two tools implemented."""
    written(folder, LANGUAGE.write(project_plan()).files)
    path = folder / "tools" / "greet.go"
    text = path.read_text()
    start, end = text.index("\t// TODO"), text.rindex("}")
    text = text[:start] + (PROGRAMS / "handler.go").read_text() + text[end:]
    path.write_text(text.replace('import "context"', 'import (\n\t"context"\n\t"os"\n\t"time"\n)'))
    path = folder / "tools" / "say.go"
    path.write_text(re.sub(r"\t// TODO.*(?=\n})", "\treturn input.Text, nil", path.read_text(), flags=re.DOTALL))
    go().run("build", "-o", "server", ".", cwd=folder)
    return folder


class Server:
    """The program, spoken to line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def send(self, method: str, params: Any = None, number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}} | (
            {} if number is None else {"id": number}
        )
        self.send_line(json.dumps(message))

    def send_line(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def receive(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def ask(self, method: str, params: Any = None, number: int = 1) -> Any:
        self.send(method, params, number)
        answer = self.receive()
        assert answer["id"] == number
        return answer["result"]

    def call(self, name: str, arguments: Any) -> Any:
        return self.ask("tools/call", {"name": name, "arguments": arguments})


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    """The program, until the end of the block. What it logs is kept in `log`."""
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [str(folder / "server")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env={}
        )
        with process:
            server = Server(process)
            yield server
            server.close()
            assert process.wait(30) == 0
