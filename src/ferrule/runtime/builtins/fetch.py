"""`fetch`: GET or HEAD of an address under a list of hosts, a limit of bytes and a limit of time.

The guarded client judges each host before it is dialled, redirects included; the answer is cut at its limit, not held beyond it.
A body goes into the result, or into a file of the download folder.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import Any, NamedTuple

from ferrule.contracts.executor import Context, ExecutionFailed, Support
from ferrule.infra.network.client import Response
from ferrule.infra.network.guard import Forbidden
from ferrule.infra.network.request import BrokenAnswer, TooLong, Unreachable, Untrusted
from ferrule.infra.network.urls import Target
from ferrule.infra.tasks import uncancelled
from ferrule.model.failure import ErrorClass
from ferrule.runtime.builtins.bodies import Saving, as_text
from ferrule.runtime.builtins.config import FetchConfig, Place
from ferrule.runtime.builtins.confine import Roots
from ferrule.runtime.builtins.failures import violation
from ferrule.runtime.builtins.requests import Domains, Request, is_same_place, redirected, request_of, secrets_in

MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LONGEST_SECONDS = 24 * 3600
_TOLD_EVERY = 256 * 1024
_OWN_HEADERS = {"User-Agent": "ferrule", "Accept": "*/*", "Accept-Encoding": "identity"}


class _Facts(NamedTuple):
    """What every result begins with."""

    request: Request
    answer: Response
    started: float

    def to_result(self, now: float) -> dict[str, Any]:
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

    def __init__(self, config: FetchConfig, place: Place) -> None:
        self._config = config
        self._place = place
        self._domains = Domains(config.allowed_domains)
        self._seconds = min(config.timeout_seconds, _LONGEST_SECONDS)
        self._folder = os.path.join(place.root, config.download_dir or tempfile.gettempdir())
        self._roots = Roots([self._folder], place.root, place.protected, place.fixed())
        self._client = place.client()

    def preflight(self, arguments: dict[str, Any]) -> None:
        """Raises ExecutionFailed for what cannot be fetched whatever the network says."""
        self._checked(arguments)

    async def __call__(self, arguments: dict[str, Any], context: Context) -> Any:
        """`url method status_code duration_ms headers`, and the body or where it was saved (ADL-28)."""
        request = self._checked(arguments)
        for value in secrets_in(request.headers):
            context.hide(value)
        fetching = asyncio.ensure_future(self._within_time(request, context))
        context.on_abort(partial(_stop, fetching))
        try:
            return await fetching
        except asyncio.CancelledError:
            waiting = asyncio.current_task()
            if waiting is None or not waiting.cancelling():  # told to stop by `on_abort`, not taken away
                context.raise_if_aborted()
            raise

    def _checked(self, arguments: dict[str, Any]) -> Request:
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
        if not self._domains.allow(target):
            raise violation(
                f"{target.host} is not among the hosts this tool may reach: {self._domains.told}", "domain_not_allowed"
            )

    async def _within_time(self, request: Request, context: Context) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._follow(request, context)
        except TimeoutError:
            host = request.target.host
            raise ExecutionFailed("timeout", f"{host} did not answer in full within {self._seconds} s") from None

    async def _follow(self, request: Request, context: Context) -> dict[str, Any]:
        started = asyncio.get_running_loop().time()
        for _ in range(MOST_REDIRECTS + 1):
            result = await self._ask(request, context, started)
            if not isinstance(result, Request):
                return result
            request = result
        raise ExecutionFailed(
            "execution_failed", f"more than {MOST_REDIRECTS} redirects, the last one to {request.target.host}",
            code="too_many_redirects",
        )  # fmt: skip

    async def _ask(self, request: Request, context: Context, started: float) -> dict[str, Any] | Request:
        """The result of one request, or the request that it is redirected to."""
        target = request.target
        headers = {**_without(request.headers), **request.headers}
        try:
            async with await self._client.send(request.method, target, headers.items()) as answer:
                location = answer.headers.get("location")
                if answer.status in _REDIRECTS and location is not None:
                    return self._next(request, location)
                return await self._given(_Facts(request, answer, started), context)
        except Forbidden as error:
            raise violation(str(error), "address_forbidden") from None
        except Untrusted as error:
            raise ExecutionFailed("execution_failed", str(error), code="certificate_refused") from None
        except (BrokenAnswer, TooLong) as error:
            raise _unavailable(f"{target.host}: {error}", "broken_answer") from None
        except Unreachable as error:
            # Whoever takes a request and hangs up is there, and gives no answer.
            raise _unavailable(f"{target.host}: {error}", "broken_answer" if error.is_sent else None) from None

    def _next(self, request: Request, location: str) -> Request:
        """The redirect, if it stays on the host or leads to one that is named."""
        following = redirected(request, location)
        before, after = request.target, following.target
        self._refuse_domain(after)
        if not (is_same_place(before, after) or self._domains.name(after) or self._client.guard.lists(after)):
            raise violation(
                f"{before.host} redirects to {after.authority}, which is not followed; fetch {after.url[:500]} itself, or name"
                " the host in spec.config.tools.fetch.allowed_domains",
                "redirect_refused",
            )
        return following

    async def _given(self, facts: _Facts, context: Context) -> dict[str, Any]:
        answer, request = facts.answer, facts.request
        async with aclosing(answer.pieces()) as whole:
            body = _Counted(whole, self._config.max_bytes, context)
            if request.save_path is not None and 200 <= answer.status < 300:
                told = await self._saved(request.save_path, body, context)
            else:
                pieces, content_type = [piece async for piece in body], answer.headers.get("content-type", "")
                text = await self._place.threads.run(
                    lambda: as_text(b"".join(pieces), content_type, is_cut=body.is_cut)
                )
                told = {**text, "bytes_read": body.count, "truncated": body.is_cut}
        return {**facts.to_result(asyncio.get_running_loop().time()), **told}

    async def _saved(self, path: str, body: _Counted, context: Context) -> dict[str, Any]:
        where = os.path.join(self._folder, path)
        saving = Saving(self._roots, where, self._place, context)
        try:
            await saving.open()
            async for piece in body:
                await saving.write(piece)
            written = await saving.commit()
        finally:
            await uncancelled(saving.close())
        return {"saved_to": os.path.normpath(where), "bytes_written": written, "truncated": body.is_cut}


class _Counted:
    """A body up to a limit, with progress told on the way."""

    def __init__(self, body: AsyncIterator[bytes], limit: int, context: Context) -> None:
        self._body = body
        self._limit = limit
        self._context = context
        self.count = 0
        self.is_cut = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        told = 0
        async for piece in self._body:
            if self.count + len(piece) > self._limit:
                self.is_cut = True
                piece = piece[: self._limit - self.count]
            self.count += len(piece)
            if self.count - told >= _TOLD_EVERY:
                told = self.count
                self._context.progress("fetching", bytes_read=told)
            if piece:
                yield piece
            if self.is_cut:
                return


def _stop(fetching: asyncio.Future[Any]) -> None:
    fetching.cancel()


def _without(headers: dict[str, str]) -> dict[str, str]:
    """Our own headers, where the caller did not give them."""
    given = {name.lower() for name in headers}
    return {name: value for name, value in _OWN_HEADERS.items() if name.lower() not in given}


def _unavailable(message: str, code: str | None = None) -> ExecutionFailed:
    kind: ErrorClass = "dependency_unavailable"
    return ExecutionFailed(kind, message, code=code)
