"""Runs Agent Tool declarations of kind `shell_command`: a program whose words the declaration lists, with places for arguments.

The `cli` mapping of the declaration holds them: `"argv": ["git", "log", "--max-count={count}", "--", "{path}"]`.
An argument never makes more than one word, and never an option where the declaration did not allow one. There is no shell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed, Output, Support
from ferrule.contracts.payloads import kept_block
from ferrule.model.tool import Tool
from ferrule.processes.confined import Confinement, Finished, check_program, failure_of, run_confined
from ferrule.processes.limits import Limits
from ferrule.processes.sandbox import SandboxMode

_PLACE = re.compile(r"\{([^{}]+)\}")
_DEFAULT_SECONDS = 30.0


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


class _Profile(msgspec.Struct):
    timeout_ms: int | None = None


class _Payload(msgspec.Struct):
    external_mappings: list[dict[str, Any]] = []
    execution_profile: _Profile = msgspec.field(default_factory=_Profile)


class ShellExecutor:
    """The programs that a workspace's declarations name."""

    support = Support(progress=True, cancel=True)

    def __init__(
        self,
        root: Path,
        *,
        sandbox: SandboxMode = "required",
        protected: Iterable[Path] = (),
        fixed: Callable[[], Iterable[Path]] = tuple,
        max_output_bytes: int = 64 * 1024**2,
    ) -> None:
        self._root = root
        self._sandbox = sandbox
        self._protected = tuple(protected)
        self._fixed = fixed
        self._max_output_bytes = max_output_bytes

    def can_run(self, tool: Tool) -> bool:
        """True for a declaration of kind `shell_command` with a `cli` mapping that lists words."""
        return tool.dialect == "agent_tool" and tool.tool_kind == "shell_command" and _mapping(tool) is not None

    def prepare(self, tool: Tool) -> ShellRun:
        """The tool's runner. Raises ExecutionFailed (`setup_required`) for a mapping that cannot be used as it is written."""
        line = _line(tool)
        timeout = msgspec.json.decode(tool.payload, type=_Payload).execution_profile.timeout_ms
        confinement = Confinement(
            root=self._root,
            working_dir=line.cwd,
            mode=self._sandbox,
            protected=self._protected,
            fixed=tuple(self._fixed()),
            is_writable=tool.facts.is_read_only is not True,
            limits=Limits(
                seconds=timeout / 1000 if timeout and timeout > 0 else _DEFAULT_SECONDS,
                output_bytes=self._max_output_bytes,
            ),
        )
        return ShellRun(line, confinement)

    async def aclose(self) -> None:
        """Nothing is held between two calls."""


class ShellRun:
    """Runs one declaration's program."""

    support = ShellExecutor.support

    def __init__(self, line: CommandLine, confinement: Confinement) -> None:
        self._line = line
        self._confinement = confinement

    async def preflight(self, arguments: dict[str, Any]) -> None:
        """Look whether it could run. Raises ExecutionFailed."""
        await check_program(filled(self._line, arguments), self._confinement)

    async def __call__(self, arguments: dict[str, Any], context: Context) -> Output:
        """Run it. Raises ExecutionFailed: `execution_failed` for an exit code that is no success."""
        argv = filled(self._line, arguments)
        finished = await run_confined(argv, self._confinement, context)
        ended = finished.ended
        output = self._output(argv[0], finished, context)
        failure = failure_of(finished, context, self._confinement.limits)
        if failure is not None:
            error_class, message, code = failure
            raise ExecutionFailed(
                error_class, message, code=code, output=output, native_error_ref=f"cli:{ended.reason}"
            )
        if ended.exit_code not in self._line.success_exit_codes:
            message = f"the program {argv[0]!r} ended with exit code {ended.exit_code}; its output says more"
            ref = f"exit_code:{ended.exit_code}"
            raise ExecutionFailed("execution_failed", message, code="exit_code", output=output, native_error_ref=ref)
        return output

    def _output(self, program: str, finished: Finished, context: Context) -> Output:
        ended = finished.ended
        code = -1 if ended.exit_code is None else ended.exit_code
        value: dict[str, Any] = {
            "exit_code": code,
            "duration_ms": round(ended.seconds * 1000),
            "output": ended.output,
        }
        if finished.note:
            value["note"] = finished.note
        ref: dict[str, Any] = {
            "source": "cli",
            "command_id": self._line.command_id or program,
            "argv_ref": f"{context.invocation_id}#/input",
            "cwd_ref": f"workspace:/{self._line.cwd.strip('/')}",
            "env_policy_ref": "environment:fixed",
            "exit_code": code,
            "sandbox_ref": f"sandbox:{finished.sandbox}",
        }
        if ended.signal is not None:
            ref["signal"] = ended.signal
        content = None
        if ended.kept is not None:
            content = ({"type": "text", "text": msgspec.json.encode(value).decode()}, kept_block(ended.kept))
        return Output(value, content, native_refs=(ref,))


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


def _mapping(tool: Tool) -> dict[str, Any] | None:
    try:
        mappings = msgspec.json.decode(tool.payload, type=_Payload).external_mappings
    except msgspec.DecodeError:
        return None
    return next((found for found in mappings if found.get("source") == "cli" and "argv" in found), None)


def _line(tool: Tool) -> CommandLine:
    try:
        line = msgspec.convert(_mapping(tool), CommandLine)
    except msgspec.ValidationError as error:
        raise ExecutionFailed(
            "setup_required", f"the cli mapping of {tool.tool_id!r} cannot be used: {error}"
        ) from None
    if not line.argv or not line.argv[0] or _PLACE.search(line.argv[0]) or any("\0" in word for word in line.argv):
        raise ExecutionFailed(
            "setup_required", f"the argv of {tool.tool_id!r} must begin with a program, by name or whole path"
        )
    schema = msgspec.json.decode(tool.runtime_input_schema or tool.input_schema)
    members = schema.get("properties", {}) if isinstance(schema, dict) else {}
    unknown = [name for word in line.argv for name in _PLACE.findall(word) if name not in members]
    if unknown:
        raise ExecutionFailed(
            "setup_required", f"the argv of {tool.tool_id!r} names {unknown[0]!r}, which its input schema does not have"
        )
    return line
