"""A surface in use: its tools, prepared when they are first called (`preparation.py`), and the counts of its run."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ferrule.contracts.hook import Hook
from ferrule.contracts.policy import PolicyEngine
from ferrule.model.retry import RetrySettings
from ferrule.model.surface import Surface, SurfaceEntry
from ferrule.runtime.pipeline.preparation import DEFAULT_RETRIES, FindExecutor, Preparation
from ferrule.runtime.pipeline.prepared import Prepared
from ferrule.runtime.scheduler.scheduler import Lane, Scheduler


class Session:
    """One surface in use."""

    __slots__ = (
        "_counts",
        "_handle",
        "_opened",
        "_preparation",
        "generation",
        "lane",
        "prepared",
        "stamp",
        "surface",
        "values",
        "views",
    )

    def __init__(
        self,
        surface: Surface,
        engine: PolicyEngine | None,
        executor_of: FindExecutor,
        generation: int = 0,
        is_known: Callable[[str], bool] = lambda name: False,
        *,
        hooks: tuple[Hook, ...] = (),
        lane: Lane | None = None,
        retries: RetrySettings = DEFAULT_RETRIES,
        told: Callable[[str], str] = str,
    ) -> None:
        """`told`: takes out of a text what must not be told."""
        self.surface = surface
        self.lane = lane or Scheduler().get_lane("")
        """Orders the calls of this surface."""
        self.values: dict[str, Any] = {}
        """The context that tools of this run may change (`context_modifiers.py`)."""
        self.views: dict[str, Any] = {}
        """The servers' encoded views of the surface; they last as long as the session."""
        self.generation = generation
        self.prepared: dict[str, Prepared] = {}
        self.stamp: Any = None
        """The state it was made from; a different one means that a new session is due."""
        self._handle: weakref.ref[Any] | None = None
        self._opened: Callable[[Session], Any] | None = None
        self._counts: dict[str, int] = {}
        self._preparation = Preparation(
            surface, engine, executor_of, is_known, hooks=hooks, lane=self.lane, retries=retries, told=told
        )

    @property
    def handle(self) -> Any:
        """The handle for tools that work on the surface itself (tool search); None where there can be none."""
        found = self._handle() if self._handle is not None else None
        return self._opened(self) if found is None and self._opened is not None else found

    def set_handle(self, handle: Any, opened: Callable[[Session], Any]) -> None:
        """Sets the handle, held weakly: an unused surface is freed at once, without the garbage collector.

        `opened` makes another handle, for a call that outlives its own.
        """
        self._handle, self._opened = weakref.ref(handle), opened

    def find(self, name: str) -> Prepared:
        """Returns the prepared tool of that name; an unknown name gives a refusal, which is not cached."""
        entry = self.surface.find(name)
        if entry is None:
            return self.refuse_name(name)
        prepared = self._preparation.prepare(name, entry)
        self.prepared[name] = prepared
        return prepared

    def adopt_counts(self, other: Session) -> None:
        """Continues the counts of another session of the same run."""
        self._counts = other._counts
        self.values = other.values

    def count_call(self, tool_id: str, limit: int | None, total_limit: int | None) -> str | None:
        """Counts one more call of the run; returns the exhausted limit instead, if there is one: the tool's id, or `*`."""
        used = self._counts.get(tool_id, 0)
        if limit is not None and used >= limit:
            return tool_id
        total = self._counts.get("*", 0)
        if total_limit is not None and total >= total_limit:
            return "*"
        self._counts[tool_id], self._counts["*"] = used + 1, total + 1
        return None

    def may_ask(self, entry: SurfaceEntry) -> bool:
        """Returns True when a call of a tool may have to wait for a person: its definition or a rule can demand one."""
        return self._preparation.may_ask(entry)

    def refuse_name(self, name: str) -> Prepared:
        """Returns the refusal of an unknown name (AT-91)."""
        return self._preparation.refuse_name(name)
