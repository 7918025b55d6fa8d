"""A person at the console, without a browser: signed in, with the pages as text and the forms as they would be sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from typing import Any
from urllib.parse import urlencode

from tests.servers.local_server import InProcessServer, Reply

FORM = "application/x-www-form-urlencoded"


class Person:
    """Somebody signed in."""

    def __init__(self, stand: InProcessServer, cookie: str) -> None:
        self.stand = stand
        self.cookie = cookie

    async def see(self, path: str, **headers: str) -> Reply:
        """A page, or with `hx_request="true"` a part of one."""
        return await self.stand.ask("GET", f"/console{path}", headers=self._headers(headers))

    async def value(self, path: str) -> Any:
        """The JSON twin of a page."""
        reply = await self.see(path, accept="application/json")
        assert reply.status == 200, reply.body
        return reply.json()

    async def send(self, path: str, form: Mapping[str, Any], *, proof: str | None = None, **headers: str) -> Reply:
        """Send a form, with the token that pages carry."""
        said = {"proof": await self.proof() if proof is None else proof, **form}
        body = urlencode(said, doseq=True).encode()
        return await self.stand.ask("POST", f"/console{path}", body, {"Content-Type": FORM, **self._headers(headers)})

    async def proof(self) -> str:
        """The token of this person's pages."""
        found = re.search(r'"X-Ferrule-Proof": "([0-9a-f]+)"', (await self.see("/")).body.decode())
        assert found is not None
        return found[1]

    def _headers(self, more: Mapping[str, str]) -> dict[str, str]:
        return {"Cookie": self.cookie, **{name.replace("_", "-"): value for name, value in more.items()}}


async def signed_in(stand: InProcessServer, token: str | None = None) -> Person:
    """Sign in with a token; the owner's unless told otherwise. The stand must have been served with `auth=True`."""
    body = urlencode({"token": token or stand.owner()}).encode()
    reply = await stand.ask("POST", "/console/login", body, {"Content-Type": FORM})
    assert reply.status == 303, reply
    return Person(stand, reply.headers["set-cookie"].partition(";")[0])


def text_of(reply: Reply) -> str:
    """The words of a page, without its marks."""
    whole = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", reply.body.decode(), flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", whole)).split())
