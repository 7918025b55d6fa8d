"""Runs Agent Tool declarations of kind `shell_command`: a program with the declared words and placeholders for arguments.

The `cli` mapping holds the line: `"argv": ["git", "log", "--max-count={count}", "--", "{path}"]`. An argument never makes
more than one word, and never an option where the declaration did not allow one. There is no shell. Output is streamed to
whoever follows the call; the program ends with everything it started; its exit code means what the declaration says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from ferrule.contracts.credentials import Vault
from ferrule.contracts.executor import Context, ExecutionFailed, Output, Support
from ferrule.contracts.payloads import payload_block
from ferrule.infra.processes.confined import Confinement, FinishedProgram, check_program, describe_failure, run_confined
from ferrule.infra.processes.programs import ENVIRONMENT, ProgramLimits
from ferrule.infra.processes.sandbox import SandboxMode
from ferrule.model.credentials import SecretRef
from ferrule.model.failure import ErrorClass
from ferrule.model.misfits import describe_complaint
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject

_PLACE = re.compile(r"\{([^{}]+)\}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CODE = re.compile(r"\*|\d{1,3}")


class EnvPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The variables a program gets besides the fixed environment: `env`."""

    allow: tuple[str, ...] = ()
    """Variables of this process that it may see."""
    set: dict[str, str] = {}
    """Variables with these values."""
    secrets: dict[str, SecretRef] = {}
    """Variables whose values are secrets, by where they are kept."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every variable it names."""
        return (*self.allow, *self.set, *self.secrets)


class ExitCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"error_class": "class"}):
    """The meaning of one exit code."""

    error_class: ErrorClass = "execution_failed"
    message: str = ""
    """What happened and what to do, for the model."""
    code: str = "exit_code"
    """A finer, stable name."""
    retry_after: float | None = None
    """Seconds to wait before another attempt."""


class CommandLine(msgspec.Struct, frozen=True):
    """The `cli` mapping of a declaration. Other members are allowed and ignored."""

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
        """The environment it declares; a bare list of names becomes `allow`."""
        return self.env if isinstance(self.env, EnvPolicy) else EnvPolicy(allow=self.env)

    def meaning(self, exit_code: int | None) -> ExitCode:
        """Returns the declared meaning of a failing exit code."""
        return self.exit_codes.get(str(exit_code)) or self.exit_codes.get("*") or ExitCode()


class _LinePayload(msgspec.Struct):
    external_mappings: list[dict[str, Any]] = []


def has_command_line(tool: Tool) -> bool:
    """Returns True for a declaration with a `cli` mapping that lists words."""
    return _mapping(tool) is not None


def read_command_line(tool: Tool) -> CommandLine:
    """Reads the command line of a declaration. Raises ExecutionFailed (`setup_required`) for an invalid one."""
    try:
        line = msgspec.convert(_mapping(tool), CommandLine)
    except msgspec.ValidationError as error:
        raise _setup_failure(
            f"the cli mapping of {tool.tool_id!r} cannot be used: {describe_complaint(error)}"
        ) from None
    if not line.argv or not line.argv[0] or _PLACE.search(line.argv[0]) or any("\0" in word for word in line.argv):
        raise _setup_failure(f"the argv of {tool.tool_id!r} must begin with a program, by name or whole path")
    schema = msgspec.json.decode(tool.runtime_input_schema or tool.input_schema)
    members = schema.get("properties", {}) if isinstance(schema, dict) else {}
    for name in (name for word in line.argv for name in _PLACE.findall(word) if name not in members):
        raise _setup_failure(f"the argv of {tool.tool_id!r} names {name!r}, which its input schema does not have")
    for name in (name for name in line.environment.names if not _VARIABLE.fullmatch(name)):
        raise _setup_failure(f"the env of {tool.tool_id!r} names {name!r}, which no variable can be called")
    for code in (code for code in line.exit_codes if not _CODE.fullmatch(code)):
        raise _setup_failure(
            f"the exit_codes of {tool.tool_id!r} names {code!r}; write a number, or '*' for all others"
        )
    return line


def fill_words(line: CommandLine, arguments: JsonObject) -> tuple[str, ...]:
    """Fills the arguments into the words. Raises ExecutionFailed (`invalid_arguments`)."""
    words = [line.argv[0]]
    are_operands = False
    for word in line.argv[1:]:
        names = _PLACE.findall(word)
        if any(arguments.get(name) is None for name in names):
            continue
        made = _PLACE.sub(lambda found: _text(found[1], arguments[found[1]]), word)
        # An argument such as `--upload-pack=…` would turn a plain operand into an option of the program.
        is_option = made.startswith("-") and not word.startswith("-") and not are_operands
        if is_option and not set(names) <= set(line.option_members):
            raise ExecutionFailed(
                "invalid_arguments",
                f"{names[0]!r} must not begin with '-': the program would take it for an option",
                code="option_injection",
            )
        # Behind `--` every word is an operand.
        are_operands = are_operands or word == "--"
        words.append(made)
    return tuple(words)


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str):
        raise ExecutionFailed("invalid_arguments", f"{name!r} must be a text, a number or a boolean to be a word")
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ExecutionFailed("invalid_arguments", f"{name!r} holds a character that no program can be given")
    return value


def _setup_failure(message: str) -> ExecutionFailed:
    return ExecutionFailed("setup_required", message)


def _mapping(tool: Tool) -> JsonObject | None:
    try:
        mappings = msgspec.json.decode(tool.payload, type=_LinePayload).external_mappings
    except msgspec.DecodeError:
        return None
    return next((found for found in mappings if found.get("source") == "cli" and "argv" in found), None)


_DEFAULT_SECONDS = 30.0
_JSON_BYTES = 16 * 1024**2
"""The largest JSON result of a program."""


class _Profile(msgspec.Struct):
    timeout_ms: int | None = None


class _Payload(msgspec.Struct):
    execution_profile: _Profile = msgspec.field(default_factory=_Profile)


class ShellExecutor:
    """Executor of the programs that a workspace's declarations name."""

    support = Support(progress=True, cancel=True, partial_results=True)

    def __init__(
        self,
        root: Path,
        *,
        sandbox: SandboxMode = "required",
        protected: Iterable[Path] = (),
        fixed: Callable[[], Iterable[Path]] = tuple,
        max_output_bytes: int = 64 * 1024**2,
        env: Mapping[str, str] | None = None,
        vault: Callable[[], Vault] | None = None,
    ) -> None:
        """`env`: variables that declarations may pass on one by one. `vault`: the source of their secrets."""
        self._root = root
        self._sandbox = sandbox
        self._protected = tuple(protected)
        self._fixed = fixed
        self._max_output_bytes = max_output_bytes
        self._env = env or {}
        self._vault = vault

    def can_run(self, tool: Tool) -> bool:
        """Returns True for a declaration of kind `shell_command` with a `cli` mapping that lists words."""
        return tool.dialect == "agent_tool" and tool.tool_kind == "shell_command" and has_command_line(tool)

    def prepare(self, tool: Tool) -> ShellRun:
        """Returns the tool's runner. Raises ExecutionFailed (`setup_required`) for an invalid mapping."""
        line = read_command_line(tool)
        timeout = msgspec.json.decode(tool.payload, type=_Payload).execution_profile.timeout_ms
        said = line.environment
        if said.secrets and self._vault is None:
            raise ExecutionFailed(
                "setup_required", f"nobody here has the secrets that the env of {tool.tool_id!r} names"
            )
        seen = {name: self._env[name] for name in said.allow if name in self._env}
        confinement = Confinement(
            root=self._root,
            working_dir=line.cwd,
            mode=self._sandbox,
            protected=self._protected,
            fixed=tuple(self._fixed()),
            is_writable=tool.facts.is_read_only is not True,
            environment={**ENVIRONMENT, **seen, **said.set},
            # One byte more than is allowed shows that there was more.
            stdout_bytes=_JSON_BYTES + 1 if line.output == "json" else 0,
            limits=ProgramLimits(
                seconds=timeout / 1000 if timeout and timeout > 0 else _DEFAULT_SECONDS,
                output_bytes=self._max_output_bytes,
            ),
        )
        return ShellRun(line, confinement, self._vault() if said.secrets and self._vault is not None else None)

    async def aclose(self) -> None:
        """Closes nothing: nothing stays open between two calls."""


class ShellRun:
    """Runs one declaration's program."""

    support = ShellExecutor.support

    def __init__(self, line: CommandLine, confinement: Confinement, vault: Vault | None = None) -> None:
        self._line = line
        self._confinement = confinement
        self._vault = vault

    @property
    def profile(self) -> JsonObject:
        """The execution profile: the eight facts about how it runs, and its capabilities (AT-194, AT-195)."""
        line, policy, limits = self._line, self._line.environment, self._confinement.limits
        codes = {
            code: {"class": told.error_class, "message": told.message, "code": told.code}
            for code, told in line.exit_codes.items()
        }
        return {
            "execution_kind": "shell",
            "command_parsing": "argv: words as declared, an argument within one word; no shell, no expansion",
            "working_directory": f"workspace:/{line.cwd.strip('/')}",
            "environment": {
                "fixed": sorted(ENVIRONMENT),
                "allow": list(policy.allow),
                "set": sorted(policy.set),
                "secrets": sorted(policy.secrets),
            },
            "sandbox_profile": {
                "mode": self._confinement.mode,
                "has_network": self._confinement.has_network,
                "is_writable": self._confinement.is_writable,
            },
            "timeout_ms": round(limits.seconds * 1000),
            "timeout_behavior": "asked to end, then killed with everything it started; the call fails as `timeout`",
            "exit_code_interpretation": {"success": list(line.success_exit_codes), "failures": codes},
            "classifier_input": {"argv": list(line.argv)},
            **self.support.to_record(),
            "sandboxed": self._confinement.mode == "required",
        }

    async def preflight(self, arguments: JsonObject) -> None:
        """Checks that the program could run. Raises ExecutionFailed."""
        await check_program(fill_words(self._line, arguments), self._confinement)

    async def probe(self, context: Context) -> str:
        """Checks that its secrets and its program exist and that it can be confined. Does not run it. Raises ExecutionFailed."""
        await self._with_secrets(context)
        await check_program(self._line.argv, self._confinement)
        return f"the program {self._line.argv[0]!r} is there, and its sandbox is {self._confinement.mode}"

    async def __call__(self, arguments: JsonObject, context: Context) -> Output:
        """Runs the program. Raises ExecutionFailed with the declared meaning of its exit code, unless that is a success."""
        confinement = await self._with_secrets(context)
        argv = fill_words(self._line, arguments)
        is_streamed = self._line.output == "text"
        finished = await run_confined(argv, confinement, context, is_streamed=is_streamed)
        ended = finished.ended
        output = self._output(argv[0], finished, context)
        failure = describe_failure(finished, context, confinement.limits)
        if failure is not None:
            error_class, message, code = failure
            raise ExecutionFailed(
                error_class, message, code=code, output=output, native_error_ref=f"cli:{ended.reason}"
            )
        if ended.exit_code not in self._line.success_exit_codes:
            raise self._exit_failure(argv[0], ended.exit_code, output)
        return self._parse_json(argv[0], finished, output) if self._line.output == "json" else output

    async def _with_secrets(self, context: Context) -> Confinement:
        refs = self._line.environment.secrets
        if not refs or self._vault is None:
            return self._confinement
        values = {name: await self._vault.secret(ref, context) for name, ref in refs.items()}
        for value in values.values():
            context.hide(value)
        return replace(self._confinement, environment={**self._confinement.environment, **values})

    def _exit_failure(self, program: str, exit_code: int | None, output: Output) -> ExecutionFailed:
        told = self._line.meaning(exit_code)
        message = told.message or f"the program {program!r} ended with exit code {exit_code}; its output says more"
        return ExecutionFailed(
            told.error_class,
            message,
            code=told.code,
            retry_after=told.retry_after,
            native_error_ref=f"exit_code:{exit_code}",
            output=output,
        )

    def _parse_json(self, program: str, finished: FinishedProgram, output: Output) -> Output:
        """Parses the JSON that the program wrote. Raises ExecutionFailed."""
        written = finished.ended.stdout
        if len(written) > _JSON_BYTES:
            message = f"the program {program!r} wrote more than {_JSON_BYTES:,} bytes of JSON"
            raise ExecutionFailed("result_too_large", message, code="output_limit", output=output)
        try:
            return Output(msgspec.json.decode(written), native_refs=output.native_refs)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            message = f"the program {program!r} should write JSON to its standard output, and wrote something else"
            raise ExecutionFailed("execution_failed", message, code="output_not_json", output=output) from None

    def _output(self, program: str, finished: FinishedProgram, context: Context) -> Output:
        ended = finished.ended
        code = -1 if ended.exit_code is None else ended.exit_code
        value: JsonObject = {
            "exit_code": code,
            "duration_ms": round(ended.seconds * 1000),
            "output": ended.output,
        }
        if finished.note:
            value["note"] = finished.note
        ref: JsonObject = {
            "source": "cli",
            "command_id": self._line.command_id or program,
            "argv_ref": f"{context.invocation_id}#/input",
            "cwd_ref": f"workspace:/{self._line.cwd.strip('/')}",
            "env_policy_ref": "environment:declared" if self._line.environment.names else "environment:fixed",
            "exit_code": code,
            "sandbox_ref": f"sandbox:{finished.sandbox}",
        }
        if ended.signal is not None:
            ref["signal"] = ended.signal
        content = None
        if ended.kept is not None:
            content = ({"type": "text", "text": msgspec.json.encode(value).decode()}, payload_block(ended.kept))
        return Output(value, content, native_refs=(ref,))
