"""The child process of `children.py`: runs functions, one call at a time, until its standard input ends.

Frames of JSON come in by standard input and go out by what was standard output; what a function prints goes to
standard error. When the first process is gone, so is this one, whatever it is doing.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import logging
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from queue import SimpleQueue
from typing import Any

import msgspec

from ferrule.contracts.executor import EMPTY, Context, ExecutionFailed, Output, Waiting
from ferrule.contracts.payloads import PayloadWriter
from ferrule.model.value import JsonObject
from ferrule.runtime.functions.conversion import make_reader, make_writer, takes_whole_number, to_json
from ferrule.runtime.functions.failures import ToolFailed, fail
from ferrule.runtime.functions.isolation import CallFrame, IsolatedFunction, OutputParts, encode_frame, read_size
from ferrule.runtime.functions.signature import read_signature

_LONGEST_LOG = 8_000


class _Pipe:
    """The pipe to the parent process. Safe from any thread."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()

    def send(self, said: JsonObject) -> None:
        data = encode_frame(said)
        # Threads of the function send too, and two frames must not mix.
        with self._lock:
            while data:
                data = data[os.write(self._fd, data) :]


class _PipeWire:
    """A context's connection to the parent process."""

    def __init__(self, pipe: _Pipe) -> None:
        self._pipe = pipe

    def progress(self, facts: JsonObject) -> None:
        """Sends progress to the parent."""
        self._pipe.send({"progress": to_json(facts)})

    def partial(self, blocks: tuple[JsonObject, ...]) -> None:
        """Sends a part of the result to the parent."""
        self._pipe.send({"partial": to_json(blocks)})

    def background(self, task_id: str, message: str) -> None:
        """Tells the parent that the call goes on in the background."""
        self._pipe.send({"background": [task_id, message]})

    def native(self, ref: JsonObject) -> None:
        """Sends a native id to the parent."""
        self._pipe.send({"native": to_json(ref)})

    def secret(self, value: str) -> None:
        """Sends a value that the parent redacts everywhere."""
        self._pipe.send({"secret": str(value)})

    def output(self, media_type: str, name: str) -> PayloadWriter:
        """Raises ExecutionFailed: a child has no payload store."""
        raise ExecutionFailed(
            "capability_gap", "a function in a process of its own cannot write output past its result"
        )


class _LogPipe(logging.Handler):
    """Sends log records to the parent process, which redacts secrets."""

    def __init__(self, pipe: _Pipe) -> None:
        super().__init__()
        self._pipe = pipe

    def emit(self, record: logging.LogRecord) -> None:
        """Sends one record."""
        try:
            message = record.getMessage()[:_LONGEST_LOG]
        except Exception as error:  # its content is dropped: it may hold secrets, which only the parent redacts
            message = f"a line that cannot be written ({type(error).__qualname__})"
        with suppress(Exception):
            self._pipe.send({"log": [_sendable(record.name), record.levelno, _sendable(message)]})


def main() -> None:
    """Runs calls from standard input until it ends."""
    # The frames go to a private copy of standard output; prints of the functions then land on standard error.
    pipe = _Pipe(os.dup(1))
    os.dup2(2, 1)
    logging.basicConfig(handlers=[_LogPipe(pipe)], level=logging.INFO)
    logging.raiseExceptions = False  # a handler that fails would print what it was to write
    asked: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(os.dup(0), asked), daemon=True).start()
    # The listener holds the only descriptor of the pipe, so a function that reads standard input gets its end at once.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    functions: dict[IsolatedFunction, Callable[..., Any]] = {}
    while True:
        _respond(msgspec.json.decode(asked.get(), type=CallFrame), pipe, functions)


def _listen(fd: int, asked: SimpleQueue[bytes]) -> None:
    with os.fdopen(fd, "rb") as stream:
        while (head := stream.read(4)) and len(head) == 4:
            asked.put(stream.read(read_size(head)))
    os._exit(0)  # the parent is gone, so no call waits for what still runs


def _respond(asked: CallFrame, pipe: _Pipe, functions: dict[IsolatedFunction, Callable[..., Any]]) -> None:
    try:
        pipe.send(_run_call(asked, pipe, functions))
    except UnicodeEncodeError:
        message = f"tool {asked.tool!r} returned text that is not Unicode; convert it in the function"
        pipe.send({"failed": {"error_class": "execution_failed", "message": message, "code": "result_mapping_failed"}})


def _sendable(text: str) -> str:
    """Escapes characters that cannot be encoded, such as those in file names."""
    return text.encode("utf-8", "backslashreplace").decode()


def _run_call(asked: CallFrame, pipe: _Pipe, functions: dict[IsolatedFunction, Callable[..., Any]]) -> JsonObject:
    try:
        try:
            function = functions.get(asked.place)
            if function is None:
                # Functions are imported once per process; module state survives from call to call.
                function = functions[asked.place] = _load_function(asked.place)
            return _encode_outcome(
                _call_function(function, asked, pipe), asked.tool, make_writer(read_signature(function))
            )
        # `sys.exit` in a function fails its call; it must not end the process that other calls use.
        except (Exception, SystemExit) as error:
            fail(error, asked.tool)
    except ExecutionFailed as failed:
        names = ("error_class", "message", "code", "retry_after", "native_error_ref", "is_retryable")
        failure = {name: getattr(failed, name) for name in names}
        return {"failed": {name: _sendable(said) if isinstance(said, str) else said for name, said in failure.items()}}


def _call_function(function: Callable[..., object], asked: CallFrame, pipe: _Pipe) -> object:
    signature, arguments = read_signature(function), asked.arguments
    for parameter in signature.parameters:
        if parameter.name not in arguments:
            continue
        read = make_reader(parameter)
        if read is not None:
            arguments[parameter.name] = read(arguments[parameter.name])
        elif takes_whole_number(parameter) and type(arguments[parameter.name]) is float:
            arguments[parameter.name] = int(arguments[parameter.name])
    if signature.context is not None:
        arguments[signature.context] = Context(**asked.context, wire=_PipeWire(pipe))
    value = function(**arguments)
    return asyncio.run(_await_value(value)) if inspect.isawaitable(value) else value


async def _await_value(value: Any) -> object:
    return await value


def _encode_outcome(value: object, tool: str, write: Callable[[Any], object]) -> JsonObject:
    if isinstance(value, Waiting):
        raise ToolFailed(f"tool {tool!r} runs in a process of its own and cannot wait for an answer")
    if isinstance(value, Output):
        if value.stream is not None:
            raise ToolFailed(f"tool {tool!r} runs in a process of its own and cannot give a stream")
        parts = {name: getattr(value, name) for name in OutputParts.__struct_fields__ if name != "is_empty"}
        is_empty = value.value is EMPTY
        return {"output": to_json({**parts, "value": None if is_empty else value.value, "is_empty": is_empty})}
    if value is EMPTY:
        return {"output": {"is_empty": True}}
    try:
        return {"given": write(value)}
    except (TypeError, ValueError, RecursionError) as error:
        kind = type(value).__qualname__
        message = f"tool {tool!r} returned a {kind} that is not JSON; its author has to convert it"
        raise ToolFailed(message, code="result_mapping_failed") from error


def _load_function(place: IsolatedFunction) -> Callable[..., object]:
    if place.file and place.module not in sys.modules:
        spec = spec_from_file_location(place.module, place.file)
        if spec is None or spec.loader is None:
            raise ToolFailed("the file of the function cannot be loaded", error_class="setup_required")
        module = sys.modules[place.module] = module_from_spec(spec)
        spec.loader.exec_module(module)
    function: Callable[..., Any] = getattr(importlib.import_module(place.module), place.name)
    return function
