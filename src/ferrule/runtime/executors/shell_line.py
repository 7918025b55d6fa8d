"""The command line of a declaration: its words with places for arguments, its environment, and what its exit codes mean.

The `cli` mapping holds it: `"argv": ["git", "log", "--max-count={count}", "--", "{path}"]`. An argument never makes more than
one word, and never an option where the declaration did not allow one. There is no shell.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.credentials import SecretRef
from ferrule.model.failure import ErrorClass
from ferrule.model.tool import Tool

_PLACE = re.compile(r"\{([^{}]+)\}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CODE = re.compile(r"\*|\d{1,3}")


class EnvPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a program's environment has besides the fixed one: `env`."""

    allow: tuple[str, ...] = ()
    """Variables of this process that it may see."""
    set: dict[str, str] = {}
    """Variables with these values."""
    secrets: dict[str, SecretRef] = {}
    """Variables whose values are secrets, by where they are kept."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every variable it speaks of."""
        return (*self.allow, *self.set, *self.secrets)


class ExitCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"error_class": "class"}):
    """What one exit code means."""

    error_class: ErrorClass = "execution_failed"
    message: str = ""
    """What happened and what to do, for the model."""
    code: str = "exit_code"
    """A finer, stable name."""
    retry_after: float | None = None
    """Seconds to wait before another attempt."""


class CommandLine(msgspec.Struct, frozen=True):
    """The `cli` mapping of a declaration. Other members are kept in it and mean nothing here."""

    argv: tuple[str, ...]
    """The program and its words; `{member}` stands for an argument. A word whose argument was not given is left out."""
    command_id: str = ""
    cwd: str = ""
    """Below the workspace."""
    success_exit_codes: tuple[int, ...] = (0,)
    """Every other code is a failure of the call."""
    option_members: tuple[str, ...] = ()
    """Arguments that may begin with `-` where that would make them options."""
    env: EnvPolicy | tuple[str, ...] = EnvPolicy()
    """A list alone names variables that it may see."""
    exit_codes: dict[str, ExitCode] = {}
    """What failing codes mean, by code; `*` for all others."""
    output: Literal["text", "json"] = "text"
    """`json`: what it writes to standard output is JSON, and is the tool's result."""

    @property
    def environment(self) -> EnvPolicy:
        """What it says about its environment."""
        return self.env if isinstance(self.env, EnvPolicy) else EnvPolicy(allow=self.env)

    def meaning(self, exit_code: int | None) -> ExitCode:
        """What a failing code means."""
        return self.exit_codes.get(str(exit_code)) or self.exit_codes.get("*") or ExitCode()


class _Payload(msgspec.Struct):
    external_mappings: list[dict[str, Any]] = []


def has_line(tool: Tool) -> bool:
    """True for a declaration with a `cli` mapping that lists words."""
    return _mapping(tool) is not None


def read_line(tool: Tool) -> CommandLine:
    """The command line of a declaration. Raises ExecutionFailed (`setup_required`) for one that cannot be used as written."""
    try:
        line = msgspec.convert(_mapping(tool), CommandLine)
    except msgspec.ValidationError as error:
        raise _unusable(f"the cli mapping of {tool.tool_id!r} cannot be used: {error}") from None
    if not line.argv or not line.argv[0] or _PLACE.search(line.argv[0]) or any("\0" in word for word in line.argv):
        raise _unusable(f"the argv of {tool.tool_id!r} must begin with a program, by name or whole path")
    schema = msgspec.json.decode(tool.runtime_input_schema or tool.input_schema)
    members = schema.get("properties", {}) if isinstance(schema, dict) else {}
    for name in (name for word in line.argv for name in _PLACE.findall(word) if name not in members):
        raise _unusable(f"the argv of {tool.tool_id!r} names {name!r}, which its input schema does not have")
    for name in (name for name in line.environment.names if not _VARIABLE.fullmatch(name)):
        raise _unusable(f"the env of {tool.tool_id!r} names {name!r}, which no variable can be called")
    for code in (code for code in line.exit_codes if not _CODE.fullmatch(code)):
        raise _unusable(f"the exit_codes of {tool.tool_id!r} names {code!r}; write a number, or '*' for all others")
    return line


def filled(line: CommandLine, arguments: dict[str, Any]) -> tuple[str, ...]:
    """The words with the arguments in their places. Raises ExecutionFailed (`invalid_arguments`)."""
    words = [line.argv[0]]
    are_operands = False
    for word in line.argv[1:]:
        names = _PLACE.findall(word)
        if any(arguments.get(name) is None for name in names):
            continue
        made = _PLACE.sub(lambda found: _text(found[1], arguments[found[1]]), word)
        is_option = made.startswith("-") and not word.startswith("-") and not are_operands
        if is_option and not set(names) <= set(line.option_members):
            raise ExecutionFailed(
                "invalid_arguments",
                f"{names[0]!r} must not begin with '-': the program would take it for an option",
                code="option_injection",
            )
        are_operands = are_operands or word == "--"
        words.append(made)
    return tuple(words)


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str):
        raise ExecutionFailed("invalid_arguments", f"{name!r} must be a text, a number or a boolean to be a word")
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ExecutionFailed("invalid_arguments", f"{name!r} holds a character that no program can be given")
    return value


def _unusable(message: str) -> ExecutionFailed:
    return ExecutionFailed("setup_required", message)


def _mapping(tool: Tool) -> dict[str, Any] | None:
    try:
        mappings = msgspec.json.decode(tool.payload, type=_Payload).external_mappings
    except msgspec.DecodeError:
        return None
    return next((found for found in mappings if found.get("source") == "cli" and "argv" in found), None)
