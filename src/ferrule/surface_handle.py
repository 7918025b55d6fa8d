"""What an agent gets: its surface, to call tools through, search in and look at. It can ask; it can never approve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ferrule.errors import FerruleError, LedgerError
from ferrule.model.failure import Stop
from ferrule.model.result import Pending, Result
from ferrule.model.surface import SearchResult, Surface, SurfaceRequest
from ferrule.pipeline.call import NO_OPTIONS, Call, CallOptions
from ferrule.pipeline.run import run_call, stop_call
from ferrule.pipeline.session import Session
from ferrule.surface.render import Rendering, render
from ferrule.surface.search import names_in, search, select

if TYPE_CHECKING:
    from ferrule.app import App

_encode = msgspec.json.encode


class SurfaceHandle:
    """A caller's view of the tools, always judged by the catalog, the policy and the switches of this moment."""

    def __init__(self, app: App, request: SurfaceRequest, session: Session) -> None:
        self._app = app
        self._request = request
        self._session = session
        session.handle = self

    @property
    def surface(self) -> Surface:
        """The surface as it was at the last call or refresh."""
        return self._session.surface

    @property
    def session(self) -> Session:
        """The surface in use."""
        return self._session

    @property
    def request(self) -> SurfaceRequest:
        """Who calls, and in what context."""
        return self._request

    async def call(
        self,
        name: str,
        arguments: dict[str, Any] | bytes | None = None,
        *,
        idempotency_key: str | None = None,
        timeout_seconds: float | None = None,
        native_call_id: str | None = None,
        retry_of: str | None = None,
        wait: float | None = None,
    ) -> Result | Pending:
        """Use a tool. Gives its result, or a `Pending` when the call waits for a person; never raises for what a call
        can go wrong with.

        `arguments`: an object, or its JSON as bytes. `wait`: how many seconds to wait for a pending call's result.
        """
        app = self._app
        session = self._session
        options = NO_OPTIONS
        if idempotency_key or timeout_seconds or native_call_id or retry_of:
            options = CallOptions(
                idempotency_key=idempotency_key,
                timeout_seconds=timeout_seconds,
                native_call_id=native_call_id,
                retry_of=retry_of,
            )
        try:
            written = arguments if type(arguments) is bytes else _encode({} if arguments is None else arguments)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            stop = Stop("schema_validation_failed", f"the arguments cannot be written as JSON: {error}", "invalid_json")
            return await self._stopped(self._planned(session, name, b"null", options), stop)
        if session.generation != app.generation():
            try:
                session = await self.refresh()
            except FerruleError as error:
                return await self._stopped(self._planned(session, name, written, options), _unmade(error))
        outcome = await run_call(self._planned(session, name, written, options), app.services)
        if outcome.__class__ is Result:
            return outcome
        return await app.calls.settled(outcome, wait)

    def _planned(self, session: Session, name: str, written: bytes, options: CallOptions) -> Call:
        services = self._app.services
        now, tick = services.now(), services.tick
        call_id = "inv_%014x%010x" % (now, self._app.bits(40))  # noqa: UP031  half the time of an f-string
        return Call(call_id, name, session, written, now, tick(), tick, options, "planned", [0], [])

    async def _stopped(self, call: Call, stop: Stop) -> Result | Pending:
        """End a call that cannot even begin; that it was made is still on record."""
        call.prepared = call.session.find(call.tool_name)
        return await self._app.calls.settled(await stop_call(call, self._app.services, stop))

    async def search(self, query: str, limit: int | None = None) -> SearchResult:
        """Find tools: by what they do, or exactly with `select:name,name`, which also loads their schemas."""
        await self.refresh()
        settings = self._app.surface_settings
        found = search(self.surface, query, search_id=self._app.new_id("sea"), limit=limit or settings.max_matches)
        self.tell_found(found.matches, found.search_id)
        if found.next_action == "load_schema_then_call" and found.query_type == "select":
            self.select(names_in(query), found.search_id)
        return found

    def select(self, names: Sequence[str], search_id: str | None = None) -> Surface:
        """Load the schemas of deferred tools, so that they can be called."""
        app, before = self._app, self._session
        ref = search_id or app.new_id("sel")
        selected = select(before.surface, names, ref, new_id=lambda: app.new_id("srf"), now=app.services.now())
        if selected is not before.surface:
            self._request = selected.request
            self._session = app.session_on(selected, before)
            self._session.handle = self
            loaded = [key for key, entry in selected.entries.items() if entry is not before.surface.entries.get(key)]
            app.tell_surface(selected, "loaded", tools=loaded, search_id=ref)
        return selected

    def tell_found(self, tool_ids: Sequence[str], search_id: str) -> None:
        """Record which deferred tools a search found (AT-188)."""
        found = [tool_id for tool_id in tool_ids if self.surface.entries[tool_id].standing == "deferred"]
        if found:
            self._app.tell_surface(self.surface, "discovered", tools=found, search_id=search_id)

    def tools(self) -> Rendering:
        """The tools as a model is shown them: name, description, input schema; names of deferred ones."""
        return render(self.surface, self._app.surface_settings)

    async def result(self, invocation_id: str, wait: float | None = None) -> Result | Pending | None:
        """How a call ended, or what it waits for; None for one that is not this principal's."""
        return await self._app.calls.result(invocation_id, wait, self._request.principal)

    async def update(self, **changes: Any) -> Surface:
        """Change the context (model, role, features, pins, …): the surface is made again."""
        self._request = msgspec.structs.replace(self._request, **changes)
        return (await self.refresh(is_forced=True)).surface

    async def refresh(self, *, is_forced: bool = False) -> Session:
        """Make the surface again if anything it depends on changed."""
        before = self._session
        session = await self._app.session_for(self._request, before, is_forced=is_forced)
        if session is not before:
            session.handle = self
            self._session = session
        return session


def _unmade(error: FerruleError) -> Stop:
    """Why a call cannot begin: what the caller may use now cannot be found out, so the answer is no."""
    if isinstance(error, LedgerError):
        message = f"the ledger cannot be read, so it is not known which tools are switched off: {error}"
        return Stop("dependency_unavailable", message, "ledger_unavailable")
    return Stop("policy_blocked", f"the caller's surface cannot be made again: {error}", "surface_gone")
