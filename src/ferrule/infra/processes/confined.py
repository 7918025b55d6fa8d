"""Runs programs of a workspace, confined as its settings say, and describes their endings by the standard's error
classes.

Built-in tools and shell executors share it. They choose the words; everything about how is here and below.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.contracts.payloads import PayloadWriter
from ferrule.infra.processes.programs import (
    ENVIRONMENT,
    FOLDERS,
    NoSuchProgram,
    ProgramLimits,
    find_program,
    limit_command,
)
from ferrule.infra.processes.protected_files import Folder, FolderRefused, open_covers, open_folder
from ferrule.infra.processes.run import ProgramEnd, ProgramFacts, ProgramStart, run_program
from ferrule.infra.processes.sandbox import Bubblewrap, Sandbox, SandboxMode, confine_command, find_bubblewrap
from ferrule.model.failure import ErrorClass
from ferrule.model.value import JsonObject

_MARK = "FERRULE_RUN"
_KEEPERS = 2
"""Bubblewrap itself, and the first process of its namespace."""
_SEEN_IN_SANDBOX = (*FOLDERS, "/usr", "/lib", "/lib64", "/nix/store", "/gnu/store")
_MESSAGE_CHARS = 300


class Confinement(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how the programs of one tool run."""

    root: Path
    """The workspace."""
    working_dir: str = ""
    """Relative to it; the only folder of the workspace that a confined program sees."""
    mode: SandboxMode = "required"
    protected: tuple[Path, ...] = ()
    """Files and folders that a confined program can neither see nor create."""
    fixed: tuple[Path, ...] = ()
    """Files that it can read but not change."""
    has_network: bool = False
    is_writable: bool = True
    environment: Mapping[str, str] = ENVIRONMENT
    stdout_bytes: int = 0
    """How much of the standard output is also kept apart."""
    limits: ProgramLimits = ProgramLimits()


class FinishedProgram(msgspec.Struct, frozen=True):
    """A program that was run."""

    ended: ProgramEnd
    sandbox: str
    """`bubblewrap`, or `none`."""
    note: str
    """A warning for the caller about how it was run; usually empty."""


async def check_program(argv: Sequence[str], confinement: Confinement) -> None:
    """Checks whether a program could be run, without running it.

    Raises ExecutionFailed: `setup_required` without a sandbox where one is required or with an unsuitable folder,
    `invalid_arguments` when there is no such program, `sandbox_violation` when a confined program could not reach it.
    """
    found = await _choose_sandbox(confinement.mode)
    try:
        program = find_program(argv[0])
        with open_folder(confinement.root, confinement.working_dir) as folder:
            if isinstance(found, Bubblewrap) and not _is_seen(program, folder):
                raise ExecutionFailed(
                    "sandbox_violation", f"the program {argv[0]!r} is outside the sandbox", code="outside_sandbox"
                )
    except NoSuchProgram as error:
        raise ExecutionFailed("invalid_arguments", str(error), code="no_such_program") from None
    except FolderRefused as error:
        raise ExecutionFailed("setup_required", str(error)) from None


async def run_confined(
    argv: Sequence[str], confinement: Confinement, context: Context, *, is_streamed: bool = False
) -> FinishedProgram:
    """Runs a program in its workspace. `is_streamed`: its output is streamed to the caller. Raises ExecutionFailed as
    `check_program` does, and when it cannot be started."""
    await check_program(argv, confinement)
    context.raise_if_aborted()
    found = await _choose_sandbox(confinement.mode)
    limits = confinement.limits
    before = limit_command(limits, in_own_namespace=isinstance(found, Bubblewrap))
    try:
        with ExitStack() as stack:
            # Held open until the program has ended: a folder swapped in meanwhile leads nowhere (decision 0016).
            folder = stack.enter_context(open_folder(confinement.root, confinement.working_dir))
            words = (*before, *_resolve_program(argv, bool(before)))
            if isinstance(found, Bubblewrap):
                start = _plan_confined(words, found, folder, confinement, stack)
            else:
                start = _plan_unconfined(words, folder, confinement)
            ended = await run_program(
                start,
                limits,
                until=context.deadline,
                on_abort=context.on_abort,
                tell=lambda facts: _report_progress(facts, context),
                keep=None if context.wire is None else lambda: _open_output(context),
                hear=context.partial if is_streamed and context.wire is not None else None,
            )
    except FolderRefused as error:
        raise ExecutionFailed("setup_required", str(error)) from None
    except OSError as error:
        raise ExecutionFailed("execution_failed", f"the program could not be started: {error.strerror}") from None
    if isinstance(found, Bubblewrap):
        return FinishedProgram(ended, "bubblewrap", "")
    return FinishedProgram(ended, "none", f"run without a sandbox: {found}")


def describe_failure(
    finished: FinishedProgram, context: Context, limits: ProgramLimits
) -> tuple[ErrorClass, str, str | None] | None:
    """Returns error class, message and code of a program that did not end by itself; None for one that did."""
    ended = finished.ended
    if not ended.is_gone:
        return "execution_failed", "the program was ended, but some of its processes are still running", "not_ended"
    match ended.reason:
        case "exited":
            return None
        case "timeout":
            return "timeout", f"the program did not end within {ended.seconds:.3g} s; it was ended", None
        case "aborted":
            kind: ErrorClass = "timeout" if context.abort_reason == "timeout" else "canceled"
            return kind, "the program was ended because the call was stopped", None
        case "too_much_output":
            most = limits.output_bytes
            message = f"the program wrote more than {most} bytes and was ended; ask for less, or raise max_output_bytes"
            return "result_too_large", message, "output_limit"
        case "too_many_processes":
            message = f"the program started more than {limits.processes} processes and was ended"
            return "sandbox_violation", message, "process_limit"
        case "not_confined":
            said = ended.output.strip()[:_MESSAGE_CHARS]
            return "setup_required", f"the sandbox could not be set up, so nothing was run: {said}", "sandbox_failed"


async def _choose_sandbox(mode: SandboxMode) -> Bubblewrap | str:
    """Returns the sandbox to use, or why none is used. Raises ExecutionFailed (`setup_required`) where one is required."""
    if mode == "off":
        return 'the workspace says [builtins] sandbox = "off"'
    if find_bubblewrap.cache_info().currsize:
        found = find_bubblewrap()
    else:
        # The first look runs a real program, in a thread; later ones find its outcome cached.
        found = await asyncio.to_thread(find_bubblewrap)
    if isinstance(found, Bubblewrap) or mode == "preferred":
        return found
    raise ExecutionFailed(
        "setup_required",
        f"programs run in a sandbox only, and {found}; install the package bubblewrap and allow user namespaces, or set"
        ' [builtins] sandbox = "preferred" in ferrule.toml to run without one',
        code="sandbox_missing",
    )


def _plan_confined(
    words: tuple[str, ...], found: Bubblewrap, folder: Folder, confinement: Confinement, stack: ExitStack
) -> ProgramStart:
    covers = stack.enter_context(open_covers(folder, confinement.root, confinement.protected, confinement.fixed))
    ours, theirs = os.pipe()
    stack.callback(os.close, ours)
    stack.callback(os.close, theirs)
    sandbox = Sandbox(
        bubblewrap=found,
        has_network=confinement.has_network,
        is_writable=confinement.is_writable,
        scratch_bytes=confinement.limits.scratch_bytes,
    )
    return ProgramStart(
        argv=(*confine_command(sandbox, folder, covers, theirs), *words),
        cwd="/",
        env=confinement.environment,
        fds=(folder.fd, *covers.fds, theirs),
        status_fd=ours,
        keepers=_KEEPERS,
        stdout_bytes=confinement.stdout_bytes,
    )


def _plan_unconfined(words: tuple[str, ...], folder: Folder, confinement: Confinement) -> ProgramStart:
    # Random, so that the processes of two runs are never confused.
    mark = secrets.token_hex(16)
    env = {**confinement.environment, "PWD": folder.path, _MARK: mark}
    return ProgramStart(
        argv=words,
        cwd=folder.handle,
        env=env,
        fds=(folder.fd,),
        mark=f"{_MARK}={mark}",
        stdout_bytes=confinement.stdout_bytes,
    )


def _resolve_program(argv: Sequence[str], is_limited: bool) -> tuple[str, ...]:
    """Returns the words as given where `prlimit` looks the program up along the fixed path; else with its full path."""
    return tuple(argv) if is_limited else (find_program(argv[0]), *argv[1:])


def _is_seen(program: str, folder: Folder) -> bool:
    path = Path(os.path.normpath(program))
    return any(path.is_relative_to(seen) for seen in (*_SEEN_IN_SANDBOX, folder.path))


def _report_progress(facts: ProgramFacts, context: Context) -> None:
    said: JsonObject = msgspec.structs.asdict(facts)
    context.progress("ended" if facts.exit_code is not None else "running", **said)


def _open_output(context: Context) -> PayloadWriter:
    return context.open_output("text/plain; charset=utf-8", "output.txt")
