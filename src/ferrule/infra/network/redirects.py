"""Follows redirects: a few, and with fewer headers the further they go.

Credentials for the first host stay with it. Another host must be in `[network] allow`, and so must one without TLS
after one with it; the guard judges every address like the first.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urljoin

from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Forbidden, Guard
from ferrule.infra.network.request import BadRequest, Body, BrokenAnswer, Headers
from ferrule.infra.network.response import Response
from ferrule.infra.network.urls import Target, parse_url

MOST_REDIRECTS = 5
_STATUSES = frozenset({301, 302, 303, 307, 308})
_BODY_HEADERS = frozenset(
    {
        "content-type",
        "content-length",
        "content-encoding",
        "content-language",
        "content-location",
        "content-md5",
        "digest",
    }
)
# Any other header may hold a key: nobody can know the names of all of them.
_HARMLESS = frozenset(
    {"accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "content-encoding", "content-language",
     "content-type", "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "pragma", "range",
     "user-agent"}
)  # fmt: skip
_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_BLANK = re.compile(r"[\x00-\x20\x7f]")


class RedirectStep(NamedTuple):
    """A request that may be redirected."""

    method: str
    target: Target
    headers: tuple[tuple[str, str], ...] = ()
    body: Body = b""
    length: int | None = None


class Followed(NamedTuple):
    """The final answer, and the request that got it."""

    response: Response
    step: RedirectStep
    redirects: int


async def follow(
    client: Client,
    step: RedirectStep,
    *,
    listed_only: bool = False,
    is_single: bool = False,
    most: int = MOST_REDIRECTS,
) -> Followed:
    """Sends a request and follows its redirects. Raises as `Client.send` does, and BrokenAnswer after too many
    redirects."""
    for redirects in range(most + 1):
        response = await client.send(
            step.method, step.target, step.headers, step.body,
            length=step.length, listed_only=listed_only, is_single=is_single,
        )  # fmt: skip
        try:
            following = next_step(client.guard, step, response.status, response.headers.get("location"))
        except BaseException:
            response.close()
            raise
        if following is None:
            return Followed(response, step, redirects)
        response.close()
        step = following
    raise BrokenAnswer(f"{step.target.host} redirects more than {most} times")


def next_step(guard: Guard, step: RedirectStep, status: int, location: str | None) -> RedirectStep | None:
    """Returns the request that a redirect asks for; None when the answer is no redirect. Raises Forbidden,
    BrokenAnswer, BadRequest."""
    if status not in _STATUSES or not location:
        return None
    target = _target(step.target, location)
    _permit(guard, step.target, target, location)
    # Another origin gets harmless headers only: credentials stay with the first one.
    headers = step.headers if target[:3] == step.target[:3] else _keep(step.headers, _HARMLESS)
    # As browsers do, and RFC 9110 allows: a POST becomes a GET.
    if status == 303 or (status in (301, 302) and step.method == "POST"):
        method = "HEAD" if step.method == "HEAD" else "GET"
        bare = tuple(header for header in headers if header[0].lower() not in _BODY_HEADERS)
        return RedirectStep(method, target, bare)
    if not isinstance(step.body, bytes):
        raise BadRequest(
            f"{step.target.host} wants the body sent again to another address, and it can be sent only once"
        )
    return step._replace(target=target, headers=headers)


def _target(base: Target, location: str) -> Target:
    bare = location.strip(" \t")
    # Looked at before joining, which takes some of these out silently.
    if _BLANK.search(bare) or "\\" in bare:
        raise BrokenAnswer(f"{base.host} redirects to an address that cannot be read")
    plain = "".join(letter if letter < "\x80" else f"%{ord(letter):02X}" for letter in bare)
    try:
        if _ABSOLUTE.match(plain):
            return parse_url(plain)
        # What begins with two slashes names a host, and must name one: it is not left to the join to make sense of it.
        return parse_url(f"{base.scheme}:{plain}" if plain.startswith("//") else urljoin(base.url, plain))
    except ValueError:  # BadUrl, and what the join makes of brackets
        raise BrokenAnswer(f"{base.host} redirects to an address that cannot be read") from None


def _permit(guard: Guard, base: Target, target: Target, location: str) -> None:
    if guard.lists(target):
        return
    if target.host != base.host:
        raise Forbidden(
            f"{base.host} redirects to {_as_written(target, location)}, which is not in [network] allow of ferrule.toml;"
            " name the host there if it may be followed"
        )
    if base.is_secure and not target.is_secure:
        raise Forbidden(
            f"{base.host} redirects from https to http; name the host in [network] allow of ferrule.toml if that is right"
        )


def _as_written(target: Target, location: str) -> str:
    """Returns the host with its letters as they came: lowering them would hide a secret from the redactor."""
    at = location.lower().find(target.host)
    return location[at : at + len(target.host)] if at >= 0 else target.host


def _keep(headers: Headers, names: frozenset[str]) -> tuple[tuple[str, str], ...]:
    return tuple(header for header in headers if header[0].lower() in names)
