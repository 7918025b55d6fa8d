"""Client stubs: a typed method for each tool, asynchronous and not."""

from __future__ import annotations

from ferrule.contracts.language import Plan, SourceFile, ToolPlan
from ferrule.definitions.stubs.identifiers import capitalised
from ferrule.definitions.stubs.languages.python.source_text import (
    aliased,
    call,
    definition,
    docstring,
    imported,
    kept,
    natural,
    plain_lines,
    quoted,
)
from ferrule.definitions.stubs.languages.python.type_module import GENERATED, support_files, type_module
from ferrule.model.failure import ERROR_CLASSES

_INDENT = " " * 4
_OPTIONS = "**options: Unpack[CallOptions]"
_OTHER_ERRORS = ("CallError", "CallTimeoutError", "PendingError", "RequestRefusedError", "TransportError")


def client_files(plan: Plan) -> list[SourceFile]:
    """The files of a plan."""
    return [
        SourceFile("client/__init__.py", _front(), "generated"),
        SourceFile("client/_clients.py", _clients(plan.tools), "generated"),
        *support_files("client/_support", plan.flavour, is_client=True),
        *(
            SourceFile(
                f"client/{tool.stem}.py", type_module(tool, plan.flavour, "._support"), "generated", tool.tool_id
            )
            for tool in plan.tools
        ),
    ]


def error_names() -> list[str]:
    """The names of the errors that a call may raise."""
    classes = (_error_name(each) for each in ERROR_CLASSES)
    return sorted([*classes, *_OTHER_ERRORS])


def _error_name(error_class: str) -> str:
    if error_class == "timeout":
        return "ToolTimeoutError"
    return f"{capitalised(error_class.split('_'), frozenset())}Error"


def _front() -> str:
    shared = (
        ["Client", "SyncClient"],
        ["Progress"],
        ["CallOptions", "OnProgress"],
        error_names(),
        ["DecodeError"],
    )
    names = sorted([name for group in shared for name in group], key=natural)
    return "\n".join(
        [
            GENERATED,
            '"""A client of Ferrule: a method for each tool, and an error for each class of errors."""',
            "",
            *imported("._clients", shared[0]),
            *imported("._support.answers", shared[1]),
            *imported("._support.calls", shared[2]),
            *imported("._support.errors", shared[3]),
            *imported("._support.json_text", shared[4]),
            "",
            "__all__ = [",
            *(f'{_INDENT}"{name}",' for name in names),
            "]",
            "",
        ]
    )


def _clients(tools: tuple[ToolPlan, ...]) -> str:
    needs_any = any(tool.output is None for tool in tools)
    stems = sorted((tool.stem for tool in tools), key=natural)
    lines = [
        GENERATED,
        '"""The clients: a method for each tool."""',
        "",
        "from __future__ import annotations",
        "",
        *imported("typing", [*(["Any"] if needs_any else []), "Self", *(["Unpack"] if tools else [])]),
        "",
        *(line for stem in stems for line in aliased(".", stem, f"_t_{stem}")),
        *imported("._support.calls", ["Caller", *(["CallOptions"] if tools else [])]),
        *imported("._support.sync", ["Blocking", "SyncCaller"]),
        *_async_head(),
        *(line for tool in tools for line in _async_method(tool)),
        *_sync_head(),
        *(line for tool in tools for line in _sync_method(tool)),
    ]
    return "\n".join(lines) + "\n"


def _async_head() -> list[str]:
    return [
        "",
        "",
        "class Client:",
        f'{_INDENT}"""Calls the tools of one server. Cancel the task, and the call is canceled."""',
        "",
        f"{_INDENT}def __init__(self, base_url: str | None = None, token: str | None = None) -> None:",
        f'{_INDENT * 2}"""Without an address and a token, those of FERRULE_URL and FERRULE_TOKEN."""',
        f"{_INDENT * 2}self.calls = Caller(base_url, token)",
    ]


def _sync_head() -> list[str]:
    return [
        "",
        "",
        "class SyncClient:",
        f'{_INDENT}"""The same for programs that know no asyncio. Close it, or use it in a `with`."""',
        "",
        f"{_INDENT}def __init__(self, base_url: str | None = None, token: str | None = None) -> None:",
        f'{_INDENT * 2}"""Without an address and a token, those of FERRULE_URL and FERRULE_TOKEN."""',
        f"{_INDENT * 2}self._client = Client(base_url, token)",
        f"{_INDENT * 2}self._blocking = Blocking()",
        f"{_INDENT * 2}self.calls = SyncCaller(self._client.calls, self._blocking)",
        "",
        f"{_INDENT}def __enter__(self) -> Self:",
        f"{_INDENT * 2}return self",
        "",
        f"{_INDENT}def __exit__(self, *_: object) -> None:",
        f"{_INDENT * 2}self.close()",
        "",
        f"{_INDENT}def close(self) -> None:",
        f'{_INDENT * 2}"""Let go of the event loop."""',
        f"{_INDENT * 2}self._blocking.close()",
    ]


def _types(tool: ToolPlan) -> tuple[str, str]:
    output = f"_t_{tool.stem}.{tool.type_name}Output" if tool.output is not None else "Any"
    return f"_t_{tool.stem}.{tool.type_name}Input", output


def _head(tool: ToolPlan, word: str) -> list[str]:
    takes, gives = _types(tool)
    about = plain_lines(tool.description) or [f"Call {' '.join(plain_lines(tool.name)) or tool.stem}."]
    head = definition(f"{word} {tool.stem}(", ["self", f"input: {takes}", _OPTIONS], f") -> {gives}:", _INDENT)
    return ["", *head, *docstring(about, _INDENT * 2)]


def _async_method(tool: ToolPlan) -> list[str]:
    passed = [quoted(tool.name), f"_t_{tool.stem}.INPUT.json(input)"]
    method = "call"
    if tool.output is not None:
        method = "typed"
        passed.append(f"_t_{tool.stem}.OUTPUT")
    body = call(f"return await self.calls.{method}(", [*passed, "**options"], _INDENT * 2)
    return [*_head(tool, "async def"), *body]


def _sync_method(tool: ToolPlan) -> list[str]:
    line = f"{_INDENT * 2}return self._blocking.run(self._client.{tool.stem}(input, **options))"
    if len(line) <= 88:
        return [*_head(tool, "def"), line]
    made = [
        kept(f"{_INDENT * 2}work = self._client.{tool.stem}(input, **options)"),
        f"{_INDENT * 2}return self._blocking.run(work)",
    ]
    return [*_head(tool, "def"), *made]
