"""Several server processes on one port: a parent that holds the socket and restarts processes that end.

The parent answers no requests. `cli/serve` stands above it; it knows nothing of what the processes serve.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

_log = logging.getLogger("ferrule.serve")
_SOON_SECONDS = 1.0
"""A process that ends sooner than this is restarted only after a pause."""
_LOOK_SECONDS = 0.2
_PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux's prctl."""


class ServerProcesses:
    """The supervised processes of one server."""

    def __init__(self, listening: socket.socket, arguments: Sequence[str], count: int) -> None:
        """`arguments`: those of `ferrule serve`, without the number of processes."""
        self._listening = listening
        self._arguments = arguments
        self._began: dict[subprocess.Popen[bytes], float] = {}
        self._count = count
        self._is_stopping = False
        self._tie_to_parent = _make_parent_tie(os.getpid())

    def run(self, grace_seconds: float) -> int:
        """Keeps the processes running until a signal stops them; returns the exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # with nohup it lives on without its terminal
            signal.signal(signal.SIGHUP, self._stop)
        for _ in range(self._count):
            self._start_process()
        while not self._is_stopping:
            time.sleep(_LOOK_SECONDS)
            for process in [one for one in self._began if one.poll() is not None]:
                self._restart_process(process)
        return self._stop_processes(grace_seconds)

    def _start_process(self) -> None:
        number = self._listening.fileno()
        words = [sys.executable, "-m", "ferrule", "serve", *self._arguments, "--processes", "1", "--fd", str(number)]
        # A session of its own: Ctrl-C would reach a process in our group too, and the SIGTERM we send
        # would then be its second signal, which ends calls in flight.
        process = subprocess.Popen(words, pass_fds=[number], start_new_session=True, preexec_fn=self._tie_to_parent)
        self._began[process] = time.monotonic()

    def _restart_process(self, process: subprocess.Popen[bytes]) -> None:
        began = self._began.pop(process)
        _log.error("server process %d ended with code %s; another one begins", process.pid, process.returncode)
        if time.monotonic() - began < _SOON_SECONDS:
            time.sleep(_SOON_SECONDS)
        if not self._is_stopping:
            self._start_process()

    def _stop(self, number: int, frame: object) -> None:
        if self._is_stopping:  # once more: calls in flight are not waited for
            for process in self._began:
                process.send_signal(signal.SIGINT)
        self._is_stopping = True

    def _stop_processes(self, grace_seconds: float) -> int:
        self._listening.close()
        for process in self._began:
            process.terminate()
        until = time.monotonic() + grace_seconds + 5
        for process in self._began:
            try:
                process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        return 0


def _make_parent_tie(parent: int) -> Callable[[], None]:
    """Returns what a server process runs first: it asks Linux to end the process when its parent dies, however that
    dies. On other systems a process outlives a parent that is killed.
    """
    prctl = getattr(ctypes.CDLL(None), "prctl", None) if sys.platform == "linux" else None

    def tie() -> None:
        if prctl is not None:
            prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)
            if os.getppid() != parent:  # the parent died before prctl took effect
                os._exit(0)

    return tie
