"""Runs tools of OXP servers, as the protocol requires of clients (OXP-34, OXP-36, OXP-38 to OXP-42).

A call keeps one id at its server as long as its outcome is unknown: sent again under that id, nothing is done twice. It gets
another only when the server reports a failure that may be retried. A call that waits for a person there continues in the
background here. Tokens, secrets and the user's id are sent only where the definition requires them; a token that cannot be
obtained here is left out, and the server then returns where its user has to go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed, Output, Support
from ferrule.infra.clouds.api_request import reach
from ferrule.infra.lockfile.oxp_tools import ImportedOxp, read_imported_oxp
from ferrule.model.credentials import Requirements, read_requirements
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.function import demand_authorized
from ferrule.runtime.executors.identity import demand_trusted
from ferrule.runtime.executors.oxp.answers import CallFailure, read_answer
from ferrule.runtime.executors.oxp.upstream import OxpUpstream, ToolLists, upstream_of
from ferrule.runtime.executors.transport_services import TransportServices


class RequirementContext:
    """Builder of the `context` member of one tool's calls."""

    def __init__(self, tool: Tool, services: TransportServices) -> None:
        self._name = tool.tool_id
        self._services = services
        self._required = (
            Requirements() if tool.credentials is None else read_requirements(msgspec.json.decode(tool.credentials))
        )

    @property
    def has_values(self) -> bool:
        """True when the tool's calls may carry secrets or tokens."""
        return bool(self._required.secrets or self._required.authorization)

    async def values(self, context: Context) -> JsonObject:
        """Fetches the context of one call; empty for a tool that requires nothing (OXP-37). Raises ExecutionFailed."""
        required = self._required
        if not required.is_anything:
            return {}
        found: JsonObject = {}
        if tokens := await self._tokens(context):
            found["authorization"] = [{"id": name, "token": token} for name, token in tokens.items()]
        if secrets := await self._secrets(context):
            found["secrets"] = [{"id": name, "value": value} for name, value in secrets.items()]
        if required.user_id:
            if not context.principal:
                raise ExecutionFailed(
                    "credential_missing",
                    f"tool {self._name!r} needs the id of a user; call it on somebody's behalf",
                    code="user_id_required",
                )
            found["user_id"] = context.principal
        return found

    async def demand(self, context: Context) -> None:
        """Raises ExecutionFailed when a requirement is missing. Does not start an authorization."""
        await self._secrets(context)
        demand_authorized(self._name, self._required, self._services.users, context)

    async def _secrets(self, context: Context) -> dict[str, str]:
        bindings, found = self._services.bindings, {}
        for name in sorted(self._required.secrets):
            if name in bindings:
                found[name] = await self._services.vault.secret(bindings[name], context)
            elif name in context.handed:
                found[name] = context.handed[name]
        return found

    async def _tokens(self, context: Context) -> dict[str, str]:
        """Returns the user's tokens: brought with the call, or authorized here. Raises AuthorizationRequired if it can
        be done here."""
        required, users = self._required.authorization, self._services.users
        found = {name: context.handed[name] for name in required if name in context.handed}
        if users is None:
            return found
        wanted = {
            name: scopes for name, scopes in required.items() if name not in found and self._is_known(name, context)
        }
        return {**found, **await users.tokens(wanted, context.principal, tenant=context.tenant)} if wanted else found

    def _is_known(self, provider: str, context: Context) -> bool:
        """Returns True when users can authorize the provider here."""
        assert self._services.users is not None
        try:
            self._services.users.problem(provider, context.principal, tenant=context.tenant)
        except ExecutionFailed as failed:
            return failed.code != "provider_unknown"
        return True


SCHEMA = "urn:oxp:1.0"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 30.0
_PROBE_SECONDS = 10.0
_UNSURE = frozenset({"dependency_unavailable", "timeout"})
"""Failures with an unknown outcome, after which the call is sent again under the same id."""
T = TypeVar("T")


class OxpExecutor:
    """Executor of the tools of every OXP server behind the workspace."""

    support = Support(background=True, credential_delegation=True)

    def __init__(self, services: TransportServices) -> None:
        self.services = services
        self.settings = services.upstreams.oxp
        self.tool_lists = ToolLists(services)

    def can_run(self, tool: Tool) -> bool:
        """Returns True: `TransportExecutor` passes only tools of this transport."""
        return True

    def prepare(self, tool: Tool) -> OxpRun:
        """Returns the tool's runner. Raises ExecutionFailed (`setup_required`)."""
        try:
            imported = read_imported_oxp(tool)
        except msgspec.DecodeError:
            raise ExecutionFailed("setup_required", f"{tool.tool_id!r} names no server of [oxp.servers]") from None
        server = self.settings.servers.get(imported.server_id)
        if server is None:
            raise ExecutionFailed(
                "setup_required", f"there is no [oxp.servers.{imported.server_id}] in ferrule.toml any more"
            )
        return OxpRun(self, tool, imported, upstream_of(imported.server_id, server))

    async def aclose(self) -> None:
        """Closes nothing: the HTTP client is shared."""


class OxpRun:
    """Runner of one version of one tool of an OXP server."""

    support = OxpExecutor.support

    def __init__(self, executor: OxpExecutor, tool: Tool, imported: ImportedOxp, upstream: OxpUpstream) -> None:
        self._services = executor.services
        self._settings = executor.settings
        self._tool_lists = executor.tool_lists
        self._server = upstream
        self._accepted = imported.definition
        self._id = str(imported.definition["id"])
        self._required = RequirementContext(tool, executor.services)
        self.upstream = f"oxp:{upstream.server_id}"

    async def __call__(self, arguments: JsonObject, context: Context) -> Output:
        """Calls the tool. Raises ExecutionFailed."""
        return await self._unless_aborted(context, self._run(arguments, context))

    async def probe(self, context: Context) -> str:
        """Checks that the server is healthy, has the tool as accepted, and that the tool's requirements can be met."""
        fetched = await reach(
            self._services.client,
            self._server.label,
            "GET",
            self._server.url("/health"),
            timeout_seconds=_PROBE_SECONDS,
            listed_only=context.is_confined,
        )
        if fetched.status != 200:
            raise ExecutionFailed(
                "dependency_unavailable", f"{self._server.label} says that it is not well ({fetched.status})"
            )
        self._tool_lists.forget(self._server)
        await self._tool_lists.demand_unchanged(self._server, self._accepted, context)
        await self._required.demand(context)
        return f"{self._server.label} is well; the tool is there and as accepted"

    async def _run(self, arguments: JsonObject, context: Context) -> Output:
        loop = asyncio.get_running_loop()
        ends = loop.time() + self._settings.timeout_seconds
        ends = ends if context.deadline is None else min(ends, context.deadline)
        await self._until(ends, self._tool_lists.demand_unchanged(self._server, self._accepted, context))
        call_id, attempt, pause, is_waiting = context.invocation_id, 1, _FIRST_PAUSE, False
        self._record_attempt(context, call_id, attempt)
        while True:
            answer = await self._attempt(arguments, context, call_id, ends)
            if isinstance(answer, Output):
                return answer
            if answer.is_pending:
                if not is_waiting:
                    # A person takes longer than a call may: the wait has a limit of its own.
                    is_waiting, ends = True, loop.time() + self._settings.pending_seconds
                    context.to_background(message=f"the call waits at {self._server.label}")
            elif not answer.may_retry or attempt >= self._settings.attempts:
                raise answer.error
            else:
                attempt += 1
                if answer.error.code == "upstream_failed":  # it ran and failed: under the old id it would not run again
                    call_id = f"{context.invocation_id}.{attempt}"
                self._record_attempt(context, call_id, attempt)
            wait = answer.after_seconds if answer.after_seconds is not None else pause
            if answer.is_pending:
                wait = min(wait, _LONGEST_PAUSE)
            if loop.time() + wait >= ends:
                raise answer.error
            await asyncio.sleep(wait)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _record_attempt(self, context: Context, call_id: str, attempt: int) -> None:
        """Records that a call is sent, and under which id."""
        server_id = self._server.server_id
        context.add_native_ref(source="oxp", server_id=server_id, tool_id=self._id, call_id=call_id, attempt=attempt)

    async def _attempt(
        self, arguments: JsonObject, context: Context, call_id: str, ends: float
    ) -> Output | CallFailure:
        """Sends the call once; returns a failure on the way as one that may be retried under the same id."""
        try:
            return await self._until(ends, self._send(arguments, context, call_id))
        except ExecutionFailed as failed:
            if failed.error_class not in _UNSURE or asyncio.get_running_loop().time() >= ends:
                raise
            # It is sent again here, under its id; the pipeline must not send it under another.
            failed.is_retryable = False
            return CallFailure(failed, may_retry=True)

    async def _send(self, arguments: JsonObject, context: Context, call_id: str) -> Output | CallFailure:
        server, services = self._server, self._services
        if server.has_credentials or self._required.has_values:
            demand_trusted(services.guard, server.target, server.label)
        headers = await server.headers(services.vault, context, services.now)
        request: JsonObject = {"call_id": call_id, "tool_id": self._id, "input": arguments}
        if context.run_id:
            request["trace_id"] = context.run_id
        if brought := await self._required.values(context):
            request["context"] = brought
        fetched = await reach(
            services.client,
            server.label,
            "POST",
            server.url("/tools/call"),
            [*headers.items(), ("Content-Type", "application/json"), ("Accept", "application/json")],
            msgspec.json.encode({"$schema": SCHEMA, "request": request}),
            timeout_seconds=self._settings.timeout_seconds,
            listed_only=context.is_confined,
            max_bytes=self._settings.max_response_bytes,
        )
        if fetched.status == 401:
            services.vault.forget_refused(server.credentials, context)
        return read_answer(server.label, self._id, fetched, is_compat=server.is_compat)

    async def _until(self, ends: float, work: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout_at(ends):
                return await work
        except TimeoutError:
            raise ExecutionFailed(
                "timeout", f"the tool {self._id} of {self._server.label} took too long; it may still run there"
            ) from None

    async def _unless_aborted(self, context: Context, work: Awaitable[Output]) -> Output:
        """Stops waiting when the call is aborted. The protocol cannot cancel: the tool may go on at the server."""
        running = asyncio.ensure_future(work)

        def stop() -> None:
            running.cancel()

        context.on_abort(stop)
        try:
            return await running
        except asyncio.CancelledError:
            running.cancel()
            task = asyncio.current_task()
            if not context.aborted or (task is not None and task.cancelling() > 0):
                raise
            kind = "timeout" if context.abort_reason == "timeout" else "canceled"
            raise ExecutionFailed(
                kind,  # type: ignore[arg-type]
                f"nobody waits any more; the tool {self._id} of {self._server.label} may still run there",
            ) from None
