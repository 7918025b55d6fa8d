"""Several processes on one port: a parent that listens and keeps its workers alive, and answers nothing itself."""

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
"""A worker that ends sooner is not begun again at once."""
_LOOK_SECONDS = 0.2
_PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG."""


class Workers:
    """The worker processes of one server."""

    def __init__(self, listening: socket.socket, arguments: Sequence[str], count: int) -> None:
        """`arguments`: of `ferrule serve`, without the number of workers."""
        self._listening = listening
        self._arguments = arguments
        self._began: dict[subprocess.Popen[bytes], float] = {}
        self._count = count
        self._is_stopping = False
        self._tied = _tied_to(os.getpid())

    def run(self, grace_seconds: float) -> int:
        """Keep them running until told to stop; gives the exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # with nohup it lives on without its terminal
            signal.signal(signal.SIGHUP, self._stop)
        for _ in range(self._count):
            self._begin()
        while not self._is_stopping:
            time.sleep(_LOOK_SECONDS)
            for worker in [one for one in self._began if one.poll() is not None]:
                self._begin_again(worker)
        return self._end(grace_seconds)

    def _begin(self) -> None:
        number = self._listening.fileno()
        words = [sys.executable, "-m", "ferrule", "serve", *self._arguments, "--workers", "1", "--fd", str(number)]
        worker = subprocess.Popen(words, pass_fds=[number], start_new_session=True, preexec_fn=self._tied)
        self._began[worker] = time.monotonic()

    def _begin_again(self, worker: subprocess.Popen[bytes]) -> None:
        began = self._began.pop(worker)
        _log.error("worker %d ended with code %s; another one begins", worker.pid, worker.returncode)
        if time.monotonic() - began < _SOON_SECONDS:
            time.sleep(_SOON_SECONDS)
        if not self._is_stopping:
            self._begin()

    def _stop(self, number: int, frame: object) -> None:
        if self._is_stopping:  # once more: calls in flight are not waited for
            for worker in self._began:
                worker.send_signal(signal.SIGINT)
        self._is_stopping = True

    def _end(self, grace_seconds: float) -> int:
        self._listening.close()
        for worker in self._began:
            worker.terminate()
        until = time.monotonic() + grace_seconds + 5
        for worker in self._began:
            try:
                worker.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
        return 0


def _tied_to(parent: int) -> Callable[[], None]:
    """What a worker does before it begins: it ends when its parent does, however that ends. Linux can say so; elsewhere a worker
    outlives a parent that is killed."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None) if sys.platform == "linux" else None

    def tie() -> None:
        if prctl is not None:
            prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)
            if os.getppid() != parent:  # it was gone before
                os._exit(0)

    return tie
