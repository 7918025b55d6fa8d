"""`fetch`: GET or HEAD of an address, with allowed hosts, a size limit and a timeout.

The guarded client checks each host before it is dialled, redirects included; a body is truncated at its limit, never read
beyond it. It goes into the result, or into a file of the download folder (`bodies.py`).
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import NamedTuple

from ferrule.contracts.executor import Context, ExecutionFailed, Support
from ferrule.infra.network.client import Response
from ferrule.infra.network.guard import Forbidden
from ferrule.infra.network.request import BrokenAnswer, TooLong, Unreachable, Untrusted
from ferrule.infra.network.urls import Target
from ferrule.infra.tasks import finish_uncancelled
from ferrule.model.failure import ErrorClass
from ferrule.model.value import JsonObject
from ferrule.runtime.builtins.bodies import FileDownload, encode_body
from ferrule.runtime.builtins.config import BuiltinServices, FetchConfig
from ferrule.runtime.builtins.confine import Roots
from ferrule.runtime.builtins.failures import violation
from ferrule.runtime.builtins.requests import (
    Domains,
    FetchRequest,
    follow_redirect,
    is_same_place,
    request_of,
    secrets_in,
)

MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LONGEST_SECONDS = 24 * 3600
_PROGRESS_EVERY = 256 * 1024
_OWN_HEADERS = {"User-Agent": "ferrule", "Accept": "*/*", "Accept-Encoding": "identity"}


class _Facts(NamedTuple):
    """The facts that begin every result."""

    request: FetchRequest
    answer: Response
    started: float

    def to_result(self, now: float) -> JsonObject:
        return {
            "url": self.request.target.url,
            "method": self.request.method,
            "status_code": self.answer.status,
            "duration_ms": int((now - self.started) * 1000),
            "headers": {
                "-".join(map(str.capitalize, name.split("-"))): value for name, value in self.answer.headers.items()
            },
        }


class FetchTool:
    """One agent's `fetch`."""

    support = Support(progress=True, cancel=True)

    def __init__(self, config: FetchConfig, services: BuiltinServices) -> None:
        self._config = config
        self._services = services
        self._domains = Domains(config.allowed_domains)
        self._seconds = min(config.timeout_seconds, _LONGEST_SECONDS)
        self._folder = os.path.join(services.root, config.download_dir or tempfile.gettempdir())
        self._roots = Roots([self._folder], services.root, services.protected, services.fixed())
        self._client = services.client()

    def preflight(self, arguments: JsonObject) -> None:
        """Raises ExecutionFailed for a request that can be refused without the network."""
        self._check_request(arguments)

    async def __call__(self, arguments: JsonObject, context: Context) -> object:
        """Fetches the address; returns `url method status_code duration_ms headers`, and the body or its file (ADL-28)."""
        request = self._check_request(arguments)
        for value in secrets_in(request.headers):
            context.hide(value)
        # A task of its own, so that `on_abort` ends the request and not the task of the call.
        fetching = asyncio.ensure_future(self._within_time(request, context))
        context.on_abort(partial(_stop, fetching))
        try:
            return await fetching
        except asyncio.CancelledError:
            waiting = asyncio.current_task()
            if waiting is None or not waiting.cancelling():  # stopped by `on_abort`; the task itself was not cancelled
                context.raise_if_aborted()
            raise

    def _check_request(self, arguments: JsonObject) -> FetchRequest:
        request = request_of(arguments)
        if request.save_path is not None:
            if not self._config.allow_downloads:
                raise ExecutionFailed(
                    "capability_gap",
                    "downloads are not enabled; set spec.config.tools.fetch.allow_downloads: true in the agent file,"
                    " or leave save_path out",
                    code="feature_disabled",
                )
            self._roots.check(os.path.join(self._folder, request.save_path))
        self._refuse_domain(request.target)
        if request.target.is_literal:
            try:
                self._client.guard.judge(request.target, [request.target.host])
            except Forbidden as error:
                raise violation(str(error), "address_forbidden") from None
        return request

    def _refuse_domain(self, target: Target) -> None:
        if not self._domains.allows(target):
            raise violation(
                f"{target.host} is not among the hosts this tool may reach: {self._domains.listed_hosts}",
                "domain_not_allowed",
            )

    async def _within_time(self, request: FetchRequest, context: Context) -> JsonObject:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._follow(request, context)
        except TimeoutError:
            host = request.target.host
            raise ExecutionFailed("timeout", f"{host} did not answer in full within {self._seconds} s") from None

    async def _follow(self, request: FetchRequest, context: Context) -> JsonObject:
        started = asyncio.get_running_loop().time()
        for _ in range(MOST_REDIRECTS + 1):
            result = await self._send(request, context, started)
            if not isinstance(result, FetchRequest):
                return result
            request = result
        raise ExecutionFailed(
            "execution_failed", f"more than {MOST_REDIRECTS} redirects, the last one to {request.target.host}",
            code="too_many_redirects",
        )  # fmt: skip

    async def _send(self, request: FetchRequest, context: Context, started: float) -> JsonObject | FetchRequest:
        """Sends one request; returns its result, or the request that it is redirected to. Raises ExecutionFailed."""
        target = request.target
        headers = {**_missing_defaults(request.headers), **request.headers}
        try:
            async with await self._client.send(request.method, target, headers.items()) as answer:
                location = answer.headers.get("location")
                if answer.status in _REDIRECTS and location is not None:
                    return self._redirect(request, location)
                return await self._read_answer(_Facts(request, answer, started), context)
        except Forbidden as error:
            raise violation(str(error), "address_forbidden") from None
        except Untrusted as error:
            raise ExecutionFailed("execution_failed", str(error), code="certificate_refused") from None
        except (BrokenAnswer, TooLong) as error:
            raise _unavailable(f"{target.host}: {error}", "broken_answer") from None
        except Unreachable as error:
            # A server that took the request and hung up is reachable, but its answer is broken.
            raise _unavailable(f"{target.host}: {error}", "broken_answer" if error.is_sent else None) from None

    def _redirect(self, request: FetchRequest, location: str) -> FetchRequest:
        """Returns the redirected request. Raises ExecutionFailed when it leads to another host that is not listed."""
        following = follow_redirect(request, location)
        before, after = request.target, following.target
        self._refuse_domain(after)
        if not (is_same_place(before, after) or self._domains.lists(after) or self._client.guard.lists(after)):
            raise violation(
                f"{before.host} redirects to {after.authority}, which is not followed; fetch {after.url[:500]} itself, or name"
                " the host in spec.config.tools.fetch.allowed_domains",
                "redirect_refused",
            )
        return following

    async def _read_answer(self, facts: _Facts, context: Context) -> JsonObject:
        answer, request = facts.answer, facts.request
        async with aclosing(answer.pieces()) as whole:
            body = _LimitedBody(whole, self._config.max_bytes, context)
            if request.save_path is not None and 200 <= answer.status < 300:
                body_members = await self._save_body(request.save_path, body, context)
            else:
                pieces, content_type = [piece async for piece in body], answer.headers.get("content-type", "")
                text = await self._services.threads.run(
                    lambda: encode_body(b"".join(pieces), content_type, is_cut=body.is_cut)
                )
                body_members = {**text, "bytes_read": body.count, "truncated": body.is_cut}
        return {**facts.to_result(asyncio.get_running_loop().time()), **body_members}

    async def _save_body(self, path: str, body: _LimitedBody, context: Context) -> JsonObject:
        where = os.path.join(self._folder, path)
        saving = FileDownload(self._roots, where, self._services, context)
        try:
            await saving.open()
            async for piece in body:
                await saving.write(piece)
            written = await saving.commit()
        finally:
            await finish_uncancelled(saving.close())
        return {"saved_to": os.path.normpath(where), "bytes_written": written, "truncated": body.is_cut}


class _LimitedBody:
    """A body up to a limit, which reports progress while it is read."""

    def __init__(self, body: AsyncIterator[bytes], limit: int, context: Context) -> None:
        self._body = body
        self._limit = limit
        self._context = context
        self.count = 0
        self.is_cut = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        reported = 0
        async for piece in self._body:
            if self.count + len(piece) > self._limit:
                self.is_cut = True
                piece = piece[: self._limit - self.count]
            self.count += len(piece)
            if self.count - reported >= _PROGRESS_EVERY:
                reported = self.count
                self._context.progress("fetching", bytes_read=reported)
            if piece:
                yield piece
            if self.is_cut:
                return


def _stop(fetching: asyncio.Future[JsonObject]) -> None:
    fetching.cancel()


def _missing_defaults(headers: dict[str, str]) -> dict[str, str]:
    """Returns the default headers that the caller did not set."""
    given = {name.lower() for name in headers}
    return {name: value for name, value in _OWN_HEADERS.items() if name.lower() not in given}


def _unavailable(message: str, code: str | None = None) -> ExecutionFailed:
    kind: ErrorClass = "dependency_unavailable"
    return ExecutionFailed(kind, message, code=code)
