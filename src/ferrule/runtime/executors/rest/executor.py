"""Runs AML tools whose transport is `rest-api`. `prepare` compiles the definition; a call fills in values and sends.

The pipeline decides what may be called, how often and by whom; the client's guard decides which address may be dialled.
Files of `ref` attachments are fetched first: their address comes from an argument, so only from listed hosts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.metadata import version

import msgspec

from ferrule.contracts.credentials import RequestCredentials
from ferrule.contracts.executor import Context, ExecutionFailed, Output, Support
from ferrule.infra.network.client import Response
from ferrule.infra.network.guard import Forbidden
from ferrule.infra.network.redirects import MOST_REDIRECTS, RedirectStep, follow, next_step
from ferrule.infra.network.request import BadRequest, BrokenAnswer, TooLong, Unreachable
from ferrule.infra.network.urls import BadUrl, Target, parse_url
from ferrule.infra.tasks import TimeLimits
from ferrule.model.credentials import Credentials
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.definition import error_codes, read_tool_credentials, read_transport, tool_type
from ferrule.runtime.executors.rest.answers import AnswerReader
from ferrule.runtime.executors.rest.attachments import Fetch
from ferrule.runtime.executors.rest.credentials import NO_CREDENTIALS, add_credentials, reserved_by
from ferrule.runtime.executors.rest.failures import network_failure, read_words, request_ids, status_failure
from ferrule.runtime.executors.rest.mapping import SAFE, BadMapping, endpoint_of, plan_of, refuse_header
from ferrule.runtime.executors.rest.plan import NO_FILES, RestPlan, RestRequest
from ferrule.runtime.executors.rest.settings import RestTransport
from ferrule.runtime.executors.rest.values import unsendable
from ferrule.runtime.executors.transport_services import TransportServices


class Fetcher:
    """Fetches files without any credentials: from hosts in `[network] allow`, and from the tool's own origin."""

    def __init__(self, services: TransportServices, base: Target) -> None:
        self._client = services.client
        self._base = base
        self.most = services.upstreams.rest.max_attachment_bytes

    def of(self, context: Context) -> Fetch:
        """Returns the function that fetches files for one call."""

        async def fetch(name: str, url: str, most: int) -> bytes:
            try:
                target = parse_url(url)
            except BadUrl as error:
                raise unsendable(name, f"has a `url` that cannot be used: {error}") from None
            return await self._fetch(name, target, most, context)

        return fetch

    async def _fetch(self, name: str, target: Target, most: int, context: Context) -> bytes:
        is_own = target[:3] == self._base[:3] and not context.is_confined
        try:
            response = await self._client.send("GET", target, [("Accept", "*/*")], listed_only=not is_own)
            if response.status != 200:
                response.close()
                message = (
                    f"the file of the argument {name!r} could not be fetched: {target.host} answered {response.status}"
                )
                raise ExecutionFailed(
                    "invalid_arguments",
                    message,
                    code="attachment_unavailable",
                    native_error_ref=f"file:{response.status}",
                )
            return await response.read(most)
        except Forbidden as error:
            message = f"the file of the argument {name!r} must not be fetched: {error}"
            raise ExecutionFailed("policy_blocked", message, code="address_forbidden") from None
        except TooLong:
            raise unsendable(name, f"points to a file of more than {most:,} bytes") from None
        except (OSError, BrokenAnswer):
            message = (
                f"the file of the argument {name!r} could not be fetched: {target.host} does not answer as it should"
            )
            raise ExecutionFailed("dependency_unavailable", message, code="attachment_unavailable") from None


_USUAL = {"Accept": "application/json, text/*;q=0.8, */*;q=0.5", "User-Agent": f"ferrule/{version('ferrule')}"}
_FAILURES = (Forbidden, OSError, BrokenAnswer, TooLong, BadRequest, TimeoutError)
_READING = frozenset({"retrieval", "function"})


class RestExecutor:
    """Executor of all `rest-api` tools of a process, over one pooled client."""

    support = Support(cancel=True, retries=True, artifacts=True, credential_delegation=True)

    def __init__(self, services: TransportServices) -> None:
        self._services = services
        self._time_limits = TimeLimits()

    def can_run(self, tool: Tool) -> bool:
        """Returns True for an AML tool; `TransportExecutor` has checked its transport."""
        return tool.dialect == "aml"

    def prepare(self, tool: Tool) -> RestRun:
        """Returns the tool's runner. Raises ExecutionFailed (`setup_required`) for an invalid transport."""
        transport = read_transport(tool, RestTransport)
        credentials = read_tool_credentials(tool)
        own = reserved_by(credentials)
        try:
            base = parse_url(transport.base_url)
            schema = msgspec.json.decode(tool.runtime_input_schema or tool.input_schema)
            plan = plan_of(transport, base.path, schema, _USUAL, own)
            return RestRun(tool, transport, plan, base, credentials, self._services, self._time_limits)
        except (BadUrl, BadMapping) as error:
            what = f"`base_url`: {error}" if isinstance(error, BadUrl) else str(error)
            raise ExecutionFailed(
                "setup_required", f"the transport of {tool.tool_id!r} cannot be used: {what}"
            ) from None

    async def aclose(self) -> None:
        """Closes nothing: the client belongs to the process."""


class RestRun:
    """Runner of one `rest-api` tool."""

    support = RestExecutor.support
    runs_in_place = True

    def __init__(
        self,
        tool: Tool,
        transport: RestTransport,
        plan: RestPlan,
        base: Target,
        credentials: Credentials,
        services: TransportServices,
        time_limits: TimeLimits,
    ) -> None:
        self.upstream = f"{base.scheme}://{base.host}:{base.port}"
        kind = tool_type(tool)
        self.is_repeatable = kind in _READING  # the method does not count: an action changes something even with GET
        self._is_once = transport.retry_policy.is_off
        if plan.is_checked_early:
            self.preflight: Callable[[JsonObject], None] = plan.check
        self._tool_id = tool.tool_id
        self._plan = plan
        self._base = base
        self._credentials = credentials if credentials.scheme != "none" else None
        self._vault, self._now = services.vault, services.now
        self._codes = error_codes(tool)
        self._most = services.upstreams.rest.max_response_bytes
        self._client = services.client
        self._time_limits = time_limits
        self._fetcher = Fetcher(services, base)
        self._key_header = transport.idempotency_header
        refuse_header(self._key_header, reserved_by(credentials).headers, is_input=False)
        self._sends_key = plan.method not in SAFE and self._key_header.lower() not in plan.header_names
        self._probe = endpoint_of(transport.probe) if transport.probe else None
        if self._probe is not None and self._probe.method not in ("GET", "HEAD"):
            raise BadMapping("`x-probe` must be a GET or HEAD request")
        self._takes_files = plan.body == "binary" or any(place.kind == "file" for place in plan.places.values())
        self._reader = AnswerReader(
            tool.tool_id,
            base.host,
            transport.answer,
            self._most,
            has_schema=tool.output_schema is not None,
            is_action=kind not in _READING,
            clean=services.redact_bytes,
        )
        # The path as the definition writes it, with placeholders: arguments may be secret.
        self._ref = {
            "source": "http",
            "method": plan.method,
            "server_url": self._base._replace(path=base.path.partition("?")[0].rstrip("/")).url,
            "path": endpoint_of(transport.endpoint).path,
            "url": base._replace(path=plan.path.text).url,
        }

    async def __call__(self, arguments: JsonObject, context: Context) -> Output:
        """Sends the request and reads its answer. Raises ExecutionFailed."""
        try:
            with self._time_limits.until(context.deadline):
                own = await self._fetch_credentials(context)
                files = NO_FILES
                if self._takes_files:
                    files = await self._plan.files(arguments, self._fetcher.of(context), self._fetcher.most)
                request = self._plan.request(arguments, files)
                response = await self._send(request, own, context)
                if response.status == 401 and self._credentials is not None:
                    response = await self._retry_with_fresh_secret(response, request, own, context)
                if 200 <= response.status < 300:
                    context.add_native_ref(**self._ref, status=response.status, **request_ids(response.headers))
                    return await self._reader.output(self._plan.method, response)
                raise await self._read_failure(response, context)
        except _FAILURES as error:
            context.add_native_ref(**self._ref)
            raise network_failure(self._tool_id, self._base.host, error, context, self._most) from None

    async def probe(self, context: Context) -> str:
        """Fetches the credentials and sends `x-probe`, or HEAD on `base_url`; does not call the tool itself."""
        own = await self._fetch_credentials(context)
        method, path = "HEAD", self._base.path
        if self._probe is not None:
            method = self._probe.method
            path = self._base.path.partition("?")[0].rstrip("/") + self._probe.path
            path += f"?{self._probe.query}" if self._probe.query else ""
        host = self._base.host
        try:
            async with asyncio.timeout_at(context.deadline):
                headers, shown_path = [*_USUAL.items(), *own.headers.items()], path
                if own.query or own.cookies:
                    shown_path, headers = add_credentials(path, headers, own)
                target = self._base._replace(path=shown_path)
                response = await self._client.send(method, target, headers, listed_only=context.is_confined)
                response.close()
        except _FAILURES as error:
            raise network_failure(self._tool_id, host, error, context, self._most) from None
        status = response.status
        if status in (401, 403) or status >= 500 or (self._probe is not None and status >= 300):
            raise status_failure(self._tool_id, host, status, response.headers, {}, self._now)
        name = f"; the credentials {self._credentials.label!r} were sent with it" if self._credentials else ""
        return f"{host} answers ({method} {path.partition('?')[0]} gave {status}){name}"

    async def _fetch_credentials(self, context: Context) -> RequestCredentials:
        if self._credentials is None:
            return NO_CREDENTIALS
        return await self._vault.request_credentials(self._credentials, context)

    async def _send(self, request: RestRequest, own: RequestCredentials, context: Context) -> Response:
        base, headers = self._base, list(request.headers)
        if context.idempotency_key is not None and self._sends_key:
            headers.append((self._key_header, context.idempotency_key))
        headers += own.headers.items()
        path = request.path
        if own.query or own.cookies:
            path, headers = add_credentials(path, headers, own)
        target = Target(base.scheme, base.host, base.port, path)
        method, confined, single = self._plan.method, context.is_confined, self._is_single(context)
        response = await self._client.send(
            method, target, headers, request.body, listed_only=confined, is_single=single
        )
        if not 300 <= response.status < 400:
            return response
        return await self._follow_redirect(
            response, RedirectStep(method, target, tuple(headers), request.body), confined, single
        )

    def _is_single(self, context: Context) -> bool:
        """Returns True when nothing may be sent twice: it acts and has no idempotency key, or its author wants one request."""
        return self._is_once or not (self.is_repeatable or context.idempotency_key is not None)

    async def _follow_redirect(self, response: Response, step: RedirectStep, confined: bool, single: bool) -> Response:
        """Follows a redirect and returns the final answer; the given one when it is not a redirect that can be followed."""
        try:
            following = next_step(self._client.guard, step, response.status, response.headers.get("location"))
        except BaseException:
            response.close()
            raise
        if following is None:
            return response
        response.close()
        left = MOST_REDIRECTS - 1
        try:
            return (await follow(self._client, following, listed_only=confined, is_single=single, most=left)).response
        except Unreachable as error:
            error.is_sent = True  # the first request was answered, so the upstream may have acted upon it
            raise

    async def _retry_with_fresh_secret(
        self, response: Response, request: RestRequest, own: RequestCredentials, context: Context
    ) -> Response:
        """Sends again with a fresh secret, if it has changed and the call may be sent twice; else returns the same answer."""
        assert self._credentials is not None
        # Also where this call is not repeated: the next one then fetches a fresh secret.
        self._vault.forget_refused(self._credentials, context)
        if self._is_single(context):
            return response
        fresh = await self._fetch_credentials(context)
        # The same secret would be refused again.
        if fresh == own:
            return response
        response.close()
        again = await self._send(request, fresh, context)
        if again.status == 401:
            self._vault.forget_refused(self._credentials, context)
        return again

    async def _read_failure(self, response: Response, context: Context) -> ExecutionFailed:
        context.add_native_ref(**self._ref, status=response.status, **request_ids(response.headers))
        words = await read_words(response)
        return status_failure(
            self._tool_id, self._base.host, response.status, response.headers, self._codes, self._now, words
        )
