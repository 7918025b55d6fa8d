"""`bash`: runs one program with its arguments, in the workspace, in a sandbox. There is no shell: its syntax is refused.

A command that ends by itself is a successful call, whatever its exit code, which the model reads. A command that had to be
stopped is an error, with the output it wrote until then.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec.structs import replace

from ferrule.contracts.executor import Context, ExecutionFailed, Output, Support
from ferrule.contracts.payloads import payload_block
from ferrule.infra.processes.command_line import CommandRefused, Whitelist, split_command
from ferrule.infra.processes.confined import Confinement, FinishedProgram, check_program, describe_failure, run_confined
from ferrule.infra.processes.programs import ProgramLimits
from ferrule.model.value import JsonObject
from ferrule.runtime.builtins.config import BashConfig, BuiltinServices

_ENDED_BY_US = -1
"""The exit code of a command that did not end by itself."""
_SHOWN_ENTRIES = 10


class BashTool:
    """One agent's `bash`."""

    support = Support(progress=True, cancel=True)

    def __init__(self, config: BashConfig, services: BuiltinServices) -> None:
        """Raises ExecutionFailed (`setup_required`) for a whitelist that cannot be read."""
        try:
            self._whitelist = Whitelist(config.whitelist)
        except CommandRefused as refused:
            raise ExecutionFailed(
                "setup_required", f"{refused}; mend spec.config.tools.bash.whitelist in the agent file"
            ) from None
        self.support = replace(BashTool.support, sandboxed=services.sandbox == "required")
        self._confinement = Confinement(
            root=services.root,
            working_dir=config.working_dir,
            mode=services.sandbox,
            protected=services.protected,
            fixed=tuple(map(Path, sorted(services.fixed()))),
            limits=ProgramLimits(seconds=float(config.timeout_seconds), output_bytes=services.max_output_bytes),
        )

    async def preflight(self, arguments: JsonObject) -> None:
        """Checks that the command may run. Raises ExecutionFailed: `invalid_arguments` for a line that is not one plain command
        or names no program, `sandbox_violation` for one that is not on the whitelist, `setup_required` without a sandbox."""
        await check_program(self._argv(arguments), self._confinement)

    async def __call__(self, arguments: JsonObject, context: Context) -> Output:
        """Runs the command. Repeats the checks of `preflight`, since a hook may have changed the line. Raises ExecutionFailed."""
        argv = self._argv(arguments)
        finished = await run_confined(argv, self._confinement, context)
        failure = describe_failure(finished, context, self._confinement.limits)
        value = _value(arguments["command"], finished)
        if failure is None:
            return self._output(value, argv, finished, context)
        error_class, message, code = failure
        value |= {"exit_code": _ENDED_BY_US, "error": message}
        output = self._output(value, argv, finished, context)
        raise ExecutionFailed(
            error_class, message, code=code, output=output, native_error_ref=f"cli:{finished.ended.reason}"
        )

    def _argv(self, arguments: JsonObject) -> tuple[str, ...]:
        try:
            argv = split_command(arguments["command"])
        except CommandRefused as refused:
            raise ExecutionFailed("invalid_arguments", str(refused), code="shell_syntax") from None
        if not self._whitelist.allows(argv):
            entries = self._whitelist.entries
            more = ", …" if len(entries) > _SHOWN_ENTRIES else ""
            raise ExecutionFailed(
                "sandbox_violation",
                f"the command begins like no entry of the whitelist ({', '.join(entries[:_SHOWN_ENTRIES])}{more})",
                code="not_whitelisted",
            )
        return argv

    def _output(self, value: JsonObject, argv: tuple[str, ...], finished: FinishedProgram, context: Context) -> Output:
        kept = finished.ended.kept
        content = None if kept is None else (_text(value), payload_block(kept))
        ref = {
            "source": "cli",
            "command_id": argv[0],
            "argv_ref": f"{context.invocation_id}#/input/command",
            "cwd_ref": f"workspace:/{self._confinement.working_dir.strip('/')}",
            "env_policy_ref": "environment:fixed",
            "exit_code": value["exit_code"],
            "sandbox_ref": f"sandbox:{finished.sandbox}",
        }
        if finished.ended.signal is not None:
            ref["signal"] = finished.ended.signal
        return Output(value, content, native_refs=(ref,))


def _value(command: str, finished: FinishedProgram) -> JsonObject:
    ended = finished.ended
    value: JsonObject = {
        "command": command,
        "exit_code": _ENDED_BY_US if ended.exit_code is None else ended.exit_code,
        "duration_ms": round(ended.seconds * 1000),
        "output": ended.output,
    }
    if ended.signal is not None:
        value["error"] = f"the program was ended by signal {ended.signal}"
    notes = [finished.note] if finished.note else []
    if not ended.is_whole:
        notes.append(
            "the output was long; its beginning and its end are here" + (", all of it is kept" if ended.kept else "")
        )
    return value | ({"note": "; ".join(notes)} if notes else {})


def _text(value: JsonObject) -> JsonObject:
    return {"type": "text", "text": msgspec.json.encode(value).decode()}
