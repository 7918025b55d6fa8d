"""Keys in queries and cookies, user and password, and several at once: what is sent, and that nobody else reads it (AML-71)."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from ferrule.model.credentials import BadCredentials, read_credentials
from tests.runtime.executors.rest.server import Seen, Server, Wire, answer, json_answer
from tests.runtime.executors.rest.tools import ANY, context, run_of, told

SECRET = "s&cr=t /é"
OK = json_answer({"ok": True})


def key(place: str, **more: Any) -> dict[str, Any]:
    return {"scheme": "api-key", "header": "k", "x-in": place, "source": "env", "name": "KEY", **more}


BASIC = {"scheme": "api-key", "header": "Authorization", "x-encode": "basic", "source": "env", "name": "KEY"}


@pytest.mark.parametrize(
    ("credentials", "secret", "target", "headers"),
    [
        (key("header"), "v", "/x?a=1", {"k": "v"}),
        (key("query"), SECRET, "/x?a=1&k=s%26cr%3Dt%20%2F%C3%A9", {}),
        (key("query", **{"x-name": "api key"}), "v", "/x?a=1&api%20key=v", {}),
        (key("cookie"), "v=1", "/x?a=1", {"cookie": "c=1; k=v=1"}),
        (BASIC, "ann:s:1", "/x?a=1", {"authorization": f"Basic {base64.b64encode(b'ann:s:1').decode()}"}),
    ],
)
def test_a_key_stands_where_the_definition_says(
    credentials: dict[str, Any], secret: str, target: str, headers: dict[str, str]
) -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call({"a": 1})
        assert result.error is None, result.error
        seen = server.seen[0]
        assert seen.target == target
        expected = {"cookie": "c=1"} | headers
        assert {name: seen.headers.get(name) for name in expected} == expected

    told(
        story, OK, "GET /x", takes={"a": ANY}, x_headers={"Cookie": "c=1"},
        credentials=credentials, environment={"KEY": secret},
    )  # fmt: skip


def test_several_credentials_are_shown_together() -> None:
    async def story(call: Any, server: Server) -> None:
        await call({})
        seen = server.seen[0]
        assert (seen.target, seen.headers["cookie"]) == ("/x?app=one", "sid=two")
        assert seen.headers["authorization"] == "Bearer three"

    others = [
        {"scheme": "api-key", "header": "app", "x-in": "query", "source": "env", "name": "ONE"},
        {"scheme": "api-key", "header": "sid", "x-in": "cookie", "source": "env", "name": "TWO"},
    ]
    bearer = {"scheme": "bearer-token", "source": "env", "name": "THREE", "x-and": others}
    told(story, OK, credentials=bearer, environment={"ONE": "one", "TWO": "two", "THREE": "three"})

    async def missing(call: Any, server: Server) -> None:
        result = await call({})
        assert result.error.error_class == "credential_missing"
        assert "TWO" in result.error.message
        assert server.seen == []

    told(missing, OK, credentials=bearer, environment={"ONE": "one", "THREE": "three"})


@pytest.mark.parametrize(
    ("credentials", "secret"), [(BASIC, "no-colon"), (key("cookie"), "a;b"), (key("cookie"), "a b")]
)
def test_a_secret_that_cannot_stand_there_is_not_sent_nor_repeated(credentials: dict[str, Any], secret: str) -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call({})
        assert (result.error.error_class, result.error.error_code) == ("credential_missing", "credential_shape")
        assert secret not in result.error.message
        assert server.seen == []

    told(story, OK, credentials=credentials, environment={"KEY": secret})


@pytest.mark.parametrize("status", [200, 302, 404, 500])
@pytest.mark.parametrize("place", ["query", "cookie"])
def test_nothing_that_is_told_or_kept_has_the_key(place: str, status: int) -> None:
    """AML-71: the other side repeats the whole address, in its answer, its errors and where it redirects to."""
    secret = "Sesame-Sesame-42/open"

    async def repeat(seen: Seen, wire: Wire) -> bytes:
        words = msgspec.json.encode({"url": seen.target, "cookie": seen.headers.get("cookie", "")})
        return answer(status, words, {"Location": f"http://elsewhere.example{seen.target}"})

    async def story(call: Any, server: Server) -> None:
        result = await call({})
        assert len(server.seen) == 1
        told_then = repr(result) + msgspec.json.encode(result.to_record(), enc_hook=repr).decode()
        for spelling in (secret, secret.replace("/", "%2F")):
            assert spelling not in told_then

    told(story, repeat, credentials=key(place), environment={"KEY": secret})


def test_a_probe_shows_the_key_and_does_not_tell_it() -> None:
    async def story(call: Any, server: Server) -> None:
        words = await run_of(call.app).probe(context())
        assert server.seen[0].target == "/health?k=Sesame"
        assert "Sesame" not in words

    told(story, OK, x_probe="GET /health", credentials=key("query"), environment={"KEY": "Sesame"})


def test_a_key_that_changed_is_sent_anew_after_a_401() -> None:
    environment = {"KEY": "old"}

    async def serve(seen: Seen, wire: Wire) -> bytes:
        if "k=old" in seen.target:
            environment["KEY"] = "new"
            return answer(401)
        return OK

    async def story(call: Any, server: Server) -> None:
        assert (await call({})).error is None
        assert [seen.target for seen in server.seen] == ["/x?k=old", "/x?k=new"]

    told(story, serve, credentials=key("query"), environment=environment)


@pytest.mark.parametrize(
    ("word", "written"),
    [
        ("x-in", key("body")),
        ("x-in", {"scheme": "bearer-token", "source": "env", "name": "KEY", "x-in": "query"}),
        ("x-encode", key("query", **{"x-encode": "basic"})),
        ("x-encode", key("header", **{"x-encode": "digest"})),
        ("x-and", key("header", **{"x-and": {"scheme": "api-key"}})),
        ("x-and", key("header", **{"x-and": [{"scheme": "iam-role"}]})),
        ("x-and", key("header", **{"x-and": [key("query", **{"x-and": []})]})),
    ],
)
def test_credentials_that_cannot_be_meant_are_not_read(word: str, written: dict[str, Any]) -> None:
    with pytest.raises(BadCredentials, match=word):
        read_credentials(written)
