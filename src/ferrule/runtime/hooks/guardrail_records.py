"""Records of guardrails on tool input and output: their settings, and the runs that a fired one blocked (AML-104).

The blocked runs are known to this process alone; other processes learn nothing of them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Annotated, Literal, NamedTuple, get_args

import msgspec

Point = Literal["tool_input", "tool_output"]
POINTS: tuple[Point, ...] = get_args(Point)
ResultType = Literal["score", "transform", "annotate", "enrich"]
OnFail = Literal["block", "warn", "log", "escalate", "apply", "reject", "skip", "fail_closed"]

ON_FAIL: dict[ResultType, tuple[OnFail, ...]] = {
    "score": ("block", "escalate", "warn", "log"),
    "transform": ("reject", "apply"),
    "annotate": ("fail_closed", "skip"),
    "enrich": ("fail_closed", "skip"),
}
"""The allowed reactions of each type, the strictest first; that is also the default."""


class GuardrailSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A guardrail on tool input or output: `[[guardrails]]`, in the order they are written."""

    id: str
    """Its name, to which an agent's `guardrails` refer."""
    at: tuple[Point, ...]
    """`tool_input`: the model's arguments, before anything runs. `tool_output`: the result, before the model sees it."""
    type: ResultType = "score"
    """The kind of answer: `score` (0 to 10), `transform` (another value), `annotate` or `enrich` (something to add)."""
    kind: Literal["command", "http", "function"]
    command: tuple[str, ...] = ()
    """Of `command`: the program and its arguments; JSON on standard input and output."""
    env: tuple[str, ...] = ()
    """Of `command`: environment variables it may see besides PATH, HOME and LANG."""
    url: str = ""
    """Of `http`: where to post; `https`, or `http` to a host in `[network] allow`."""
    secret_env: str = ""
    """Of `http`: the environment variable with the secret that signs what is posted."""
    function: str = ""
    """Of `function`: `module:name`, or `path/file.py:name` in the workspace."""
    tools: tuple[str, ...] = ("*",)
    """Ids or names of tools, with `*`; calls of any other tool are not shown to it."""
    agents: tuple[str, ...] = ()
    """Agents it guards although their files do not name it; `*` for every call. Empty: agents whose file names it, and
    calls that come without an agent file."""
    severity_threshold: Annotated[float, msgspec.Meta(ge=0, le=10)] = 7.0
    """The score from which on it fires."""
    on_fail: OnFail | None = None
    """`score`: block, escalate (ask a person), warn or log. `transform`: reject or apply. `annotate` and `enrich`: fail_closed
    or skip. The strictest, named first, is the default."""
    error_severity: Annotated[float, msgspec.Meta(ge=0, le=10)] = 10.0
    """The score of a guardrail that cannot be asked: 10 fails closed, 0 fails open."""
    timeout_seconds: Annotated[float, msgspec.Meta(gt=0, le=600)] = 5.0
    """A provider that takes longer counts as failed."""


MAX_RUNS = 100_000
"""The limit of remembered runs; the oldest is forgotten first."""


class FiredGuardrail(NamedTuple):
    """The first guardrail that fired in a run."""

    guardrail_id: str
    reason: str


class FiredRuns:
    """The blocked runs. Safe from any thread."""

    def __init__(self, size: int = MAX_RUNS) -> None:
        self._size = size
        self._runs: OrderedDict[str, FiredGuardrail] = OrderedDict()
        self._lock = threading.Lock()

    def mark(self, run_id: str, guardrail_id: str, reason: str = "") -> None:
        """Marks a run as blocked by a guardrail on its input. The first one counts; nothing takes it back."""
        if not run_id:
            return
        with self._lock:
            self._runs.setdefault(run_id, FiredGuardrail(guardrail_id, reason))
            self._runs.move_to_end(run_id)
            if len(self._runs) > self._size:
                self._runs.popitem(last=False)

    def find(self, run_id: str) -> FiredGuardrail | None:
        """Returns the first guardrail that fired in a run; None without one."""
        return self._runs.get(run_id)

    def __len__(self) -> int:
        return len(self._runs)
