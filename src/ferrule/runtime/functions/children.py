"""The pool of processes that run isolated functions, killed for real when a call should stop.

A child inherits no memory, no open files, and only the usual and declared environment variables. One that dies fails
one call alone. No child outlives its parent: it ends with its last call, with this process, or by being killed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from typing import cast
from uuid import uuid4

import msgspec

from ferrule.contracts.executor import EMPTY, Context, ExecutionFailed, Output
from ferrule.infra.processes.tree import ProcessTree
from ferrule.infra.tasks import Patience, close_process
from ferrule.model.failure import ErrorClass
from ferrule.runtime.functions.isolation import (
    HEAD_BYTES,
    MOST_BYTES,
    CallFrame,
    OutputParts,
    ReplyFrame,
    encode_frame,
    read_size,
)

DEFAULT_PROCESSES = 4
_USUAL = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "SYSTEMROOT")
_MARK = "FERRULE_FUNCTION"
_START = "import json, sys; sys.path[:] = json.loads(sys.argv.pop()); from ferrule.runtime.functions.child import main; main()"
_CLOSING_SECONDS = 2.0
_decode = msgspec.json.Decoder(ReplyFrame).decode


class Children:
    """The function processes of one app."""

    def __init__(self, env: Mapping[str, str], size: int = DEFAULT_PROCESSES) -> None:
        self._env = env
        self._size = size
        self._places: asyncio.Semaphore | None = None
        self._idle: dict[tuple[str, ...], list[_Child]] = {}
        self._all: set[_Child] = set()

    async def run(self, asked: CallFrame, declared: tuple[str, ...], context: Context) -> object:
        """Runs one call. `declared`: the environment variables its function may see. Raises ExecutionFailed."""
        if self._places is None:
            self._places = asyncio.Semaphore(self._size)
        async with self._places:
            child = await self._take_child(declared)
            try:
                given = await child.run(asked, context)
            except BaseException:  # canceled, or it said something it must not
                # A failure that the function reported leaves it usable; any other may leave half a frame in the pipe.
                if not child.is_idle:
                    await self._end(child)
                else:
                    self._put_back(declared, child)
                raise
            self._put_back(declared, child)
            return given

    async def aclose(self) -> None:
        """Ends every process, and waits until each is gone."""
        for child in list(self._all):
            await self._end(child)
        self._idle.clear()

    def _put_back(self, declared: tuple[str, ...], child: _Child) -> None:
        self._idle.setdefault(declared, []).append(child)

    async def _take_child(self, declared: tuple[str, ...]) -> _Child:
        # By variables: a process keeps the environment it was started with.
        idle = self._idle.get(declared, [])
        # An idle child may have died since its last call.
        while idle:
            child = idle.pop()
            if child.is_alive:
                return child
            await self._end(child)
        await self._make_room()
        child = await _Child.start(self._select_environment(declared))
        self._all.add(child)
        return child

    async def _make_room(self) -> None:
        """Ends one idle process of other functions when the pool is full."""
        if len(self._all) < self._size:
            return
        for idle in self._idle.values():
            if idle:
                await self._end(idle.pop(0))
                return

    async def _end(self, child: _Child) -> None:
        try:
            await child.end()
        finally:  # also when its waiting is canceled: a dead child must not take a place of the pool
            self._all.discard(child)

    def _select_environment(self, declared: tuple[str, ...]) -> dict[str, str]:
        names = dict.fromkeys((*_USUAL, *declared))
        return {name: self._env[name] for name in names if name in self._env}


class _Child:
    """One process."""

    def __init__(self, process: Process, mark: str) -> None:
        self._process = process
        self._exited: asyncio.Future[int] = asyncio.ensure_future(process.wait())
        self._tree = ProcessTree(process.pid, mark=mark)
        self.is_idle = True
        """False while a call runs in it, and for ever after one that did not come to its end."""

    @classmethod
    async def start(cls, env: dict[str, str]) -> _Child:
        # The mark in the environment finds descendants that left the process group.
        mark = f"{_MARK}={uuid4().hex}"
        paths = json.dumps([path or os.getcwd() for path in sys.path])
        name, _, value = mark.partition("=")
        try:
            # -I: our own path, which it is given, decides what it imports, and no variable or current folder.
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-c", _START, paths,
                stdin=PIPE, stdout=PIPE, stderr=None if _has_stderr() else DEVNULL, env={**env, name: value},
                start_new_session=True, limit=2**20,
            )  # fmt: skip
        except OSError as error:
            message = f"cannot start a process for the function: {error.strerror}"
            raise ExecutionFailed("dependency_unavailable", message, code="process_not_started") from None
        return cls(process, mark)

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    async def run(self, asked: CallFrame, context: Context) -> object:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        self.is_idle = False
        try:
            stdin.write(encode_frame(asked))
            await stdin.drain()
            while True:
                size = read_size(await stdout.readexactly(HEAD_BYTES))
                if size > MOST_BYTES:
                    message = f"tool {asked.tool!r} gave more than {MOST_BYTES:,} bytes"
                    raise ExecutionFailed("result_too_large", message)
                said = _decode(await stdout.readexactly(size))
                if said.failed is not None or said.output is not None or said.given is not msgspec.UNSET:
                    self.is_idle = True
                    return _read_outcome(said)
                _forward_frame(said, context)
        except (asyncio.IncompleteReadError, ConnectionError, BrokenPipeError):
            raise await self._explain_death(asked.tool) from None
        except msgspec.MsgspecError:
            message = f"the process of tool {asked.tool!r} sent something that is not an answer"
            raise ExecutionFailed("execution_failed", message, code="process_died") from None

    async def end(self) -> None:
        """Kills the process and everything it started, and reaps it. Completes even when the caller is canceled."""
        patience = Patience()
        if self._process.stdin is not None:
            self._process.stdin.close()
        # An idle one ends by itself once its input is closed; a busy one is killed right away.
        if self.is_idle:
            await patience.wait(self._exited, _CLOSING_SECONDS)
        await self._tree.end(self._exited, patience)
        close_process(self._process)
        patience.check()

    async def _explain_death(self, tool: str) -> ExecutionFailed:
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING_SECONDS):
                await asyncio.shield(self._exited)
        code = self._process.returncode
        how, ref = "ended", "process:ended"
        if code is not None and code < 0:
            with suppress(ValueError):
                how, ref = f"was ended by {signal.Signals(-code).name}", f"signal:{-code}"
        elif code is not None:
            how, ref = f"ended with exit code {code}", f"exit_code:{code}"
        message = f"the process of tool {tool!r} {how} before it answered"
        return ExecutionFailed("execution_failed", message, code="process_died", native_error_ref=ref)


def _read_outcome(said: ReplyFrame) -> object:
    if said.failed is not None:
        failed = said.failed
        raise ExecutionFailed(
            cast(ErrorClass, failed.error_class),
            failed.message,
            code=failed.code,
            retry_after=failed.retry_after,
            native_error_ref=failed.native_error_ref,
            is_retryable=failed.is_retryable,
        )
    if said.output is None:
        return said.given
    names = (name for name in OutputParts.__struct_fields__ if name != "is_empty")
    parts = {name: getattr(said.output, name) for name in names}
    return Output(**{**parts, "value": EMPTY if said.output.is_empty else said.output.value})


def _forward_frame(said: ReplyFrame, context: Context) -> None:
    wire = context.wire
    if said.log is not None:
        name, level, message = said.log
        logging.getLogger(name).log(level, "%s", message)
    elif wire is None:
        return
    elif said.progress is not None:
        wire.progress(said.progress)
    elif said.partial is not None:
        wire.partial(said.partial)
    elif said.native is not None:
        wire.native(said.native)
    elif said.secret is not None:
        wire.secret(said.secret)
    elif said.background is not None:
        wire.background(*said.background)


def _has_stderr() -> bool:
    """Returns True when standard error is open: functions print there."""
    try:
        os.fstat(2)
    except OSError:
        return False
    return True
