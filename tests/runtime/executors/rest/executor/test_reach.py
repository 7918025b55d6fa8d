"""Whom a REST tool reaches, and as whom: credentials, redirects, addresses."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.persistence import ResultSettings
from ferrule.settings import NetworkSettings, Settings
from ferrule.testing import memory_app
from tests.runtime.executors.rest.server import BOUND, Seen, Server, Wire, answer, json_answer, serving, settings
from tests.runtime.executors.rest.tools import ALLOW, ANY, context, definition, run_of, told

OK = json_answer({"ok": True})
SECRET = "sesame-7f3a9c51e2"
BEARER = {"scheme": "bearer-token", "source": "env", "name": "TOKEN"}
NOWHERE = Settings(network=NetworkSettings(allow=()))


@pytest.mark.parametrize(
    ("credentials", "value", "headers"),
    [
        ({"scheme": "api-key", "header": "X-Api-Key", "source": "env", "name": "TOKEN"}, SECRET, {"x-api-key": SECRET}),
        (BEARER, SECRET, {"authorization": f"Bearer {SECRET}"}),
        ({**BEARER, "scheme": "service-account"}, SECRET, {"authorization": f"Bearer {SECRET}"}),
        ({**BEARER, "key": "inner"}, f'{{"inner":"{SECRET}"}}', {"authorization": f"Bearer {SECRET}"}),
    ],
)
def test_credentials_stand_in_their_header_and_nowhere_else(
    credentials: Any, value: str, headers: dict[str, str]
) -> None:
    """AML-65, AML-66, AML-67, AML-70."""

    async def echo(seen: Seen, wire: Wire) -> bytes:
        return json_answer({"told": dict(seen.headers)})

    async def story(call: Any, server: Server) -> None:
        result = await call({"a": 1})
        assert result.status == "succeeded", result.error
        assert headers.items() <= server.seen[0].headers.items()
        rows = await call.app.store.rows_of(result.invocation_id)
        assert SECRET not in str(result)
        assert SECRET not in str([row.segment() for row in rows])

    told(story, echo, takes={"a": ANY}, credentials=credentials, environment={"TOKEN": value})


def test_no_credentials_mean_no_header() -> None:
    """AML-64, AML-66: `none` sends nothing; a scheme that does not fit is a warning, and sends nothing either."""

    async def story(call: Any, server: Server) -> None:
        await call()
        assert "authorization" not in server.seen[0].headers

    told(story, OK)
    told(story, OK, credentials={"scheme": "iam-role"})


def test_a_missing_secret_is_told_before_anything_is_sent() -> None:
    """AML-72."""

    async def story(call: Any, server: Server) -> None:
        result = await call()
        assert result.error.error_class == "credential_missing"
        with pytest.raises(ExecutionFailed) as caught:
            await run_of(call.app)({}, context())
        assert caught.value.error_class == "credential_missing"
        assert "TOKEN" in caught.value.message
        assert (server.seen, server.connections) == ([], 0)

    told(story, OK, credentials=BEARER, environment={})


async def picky(seen: Seen, wire: Wire) -> bytes:
    return OK if seen.headers.get("authorization") == "Bearer new" else answer(401)


def test_a_secret_that_was_refused_is_read_anew_by_the_next_call() -> None:
    environment = {"TOKEN": "old"}

    async def story(call: Any, server: Server) -> None:
        assert (await call()).error.error_code == "credential_refused"
        environment["TOKEN"] = "new"
        assert (await call()).status == "succeeded"
        assert [seen.headers["authorization"] for seen in server.seen] == ["Bearer old", "Bearer new"]

    told(story, picky, "POST /pay", kind="action", credentials=BEARER, environment=environment)


def test_a_secret_that_is_still_the_same_is_not_sent_again() -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call()
        assert (result.error.error_class, result.error.error_code) == ("credential_missing", "credential_refused")
        assert len(server.seen) == 1

    told(story, picky, credentials=BEARER, environment={"TOKEN": "old"})


def test_a_secret_that_changes_while_the_call_runs_is_used_for_it() -> None:
    environment = {"TOKEN": "old"}

    async def rotating(seen: Seen, wire: Wire) -> bytes:
        environment["TOKEN"] = "new"
        return await picky(seen, wire)

    async def story(call: Any, server: Server) -> None:
        assert (await call()).status == "succeeded"
        assert [seen.headers["authorization"] for seen in server.seen] == ["Bearer old", "Bearer new"]

    async def once(call: Any, server: Server) -> None:
        assert (await call()).error.error_code == "credential_refused"
        assert len(server.seen) == 1

    told(story, rotating, credentials=BEARER, environment=environment)
    single: list[dict[str, Any]] = [
        {"endpoint": "POST /pay", "kind": "action"},
        {"endpoint": "PUT /pay", "kind": "action"},
        {"retry_policy": {"max_attempts": 1}},
        {"retry_policy": {"on_status": []}},
    ]
    for tool in single:
        environment["TOKEN"] = "old"
        told(once, rotating, credentials=BEARER, environment=environment, **tool)


def redirecting(status: int, location: str) -> Any:
    async def serve(seen: Seen, wire: Wire) -> bytes:
        return answer(status, headers={"Location": location}) if seen.target.startswith("/x") else OK

    return serve


@pytest.mark.parametrize(
    ("method", "status", "then"),
    [("GET", 302, "GET"), ("POST", 303, "GET"), ("POST", 302, "GET"), ("POST", 307, "POST"), ("PUT", 308, "PUT")],
)
def test_a_redirect_on_the_same_host_is_followed(method: str, status: int, then: str) -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call({"a": 1})
        assert result.status == "succeeded", result.error
        first, last = server.seen
        assert (last.method, last.target) == (then, "/y?z=1")
        assert last.headers["authorization"] == "Bearer t"
        assert last.body == (first.body if then == method else b"")

    told(
        story, redirecting(status, "/y?z=1"), f"{method} /x", kind="action", takes={"a": ANY},
        credentials=BEARER, environment={"TOKEN": "t"},
    )  # fmt: skip


def test_a_redirect_to_another_origin_takes_no_credentials_along() -> None:
    async def main() -> None:
        async with asyncio.timeout(BOUND), serving(OK) as other, serving(redirecting(307, f"{other.url}/y")) as server:
            text = definition(
                "POST /x", base_url=server.url, kind="action", credentials=BEARER, takes={"a": ANY},
                x_headers={"X-Session": "{s}", "Accept-Language": "de"},
            )  # fmt: skip
            async with memory_app(
                definitions={"tools/the-tool.tool.md": text},
                settings=settings(),
                policy=ALLOW,
                environment={"TOKEN": "t"},
            ) as app:
                result: Any = await app.surface().call("the-tool", {"a": 1, "s": "x"}, wait=10)
                assert result.status == "succeeded", result.error
                assert other.seen[0].body == b'{"a":1}'
                assert not {"authorization", "x-session"} & other.seen[0].headers.keys()
                assert other.seen[0].headers["accept-language"] == "de"

    asyncio.run(main())


@pytest.mark.parametrize(
    "location",
    [
        "http://localhost:1/",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/",
        "http://2130706434/",
        "http://example.com/",
        "http://10.0.0.1/",
    ],
)
def test_a_redirect_leaves_the_host_only_to_listed_ones(location: str) -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call()
        assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "address_forbidden")
        assert len(server.seen) == 1

    told(story, redirecting(302, location))


def test_redirects_that_do_not_end_end() -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call()
        assert result.error.error_class == "dependency_unavailable"
        assert len(server.seen) <= 10

    told(story, redirecting(302, "/x/again"), retry_policy={"max_attempts": 1})


@pytest.mark.parametrize(
    "location", ["ftp://127.0.0.1/", "javascript:1", "http://", "http://a b/", "\\\\evil", "http://u:p@127.0.0.1/"]
)
def test_a_redirect_nobody_can_read_is_a_broken_answer(location: str) -> None:
    async def story(call: Any, server: Server) -> None:
        assert (await call()).error.error_class == "dependency_unavailable"

    told(story, redirecting(302, location), retry_policy={"max_attempts": 1})


def test_an_address_of_this_machine_has_to_be_listed() -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call()
        assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "address_forbidden")
        assert "[network] allow" in result.error.message
        assert server.connections == 0

    told(story, OK, here=NOWHERE)


def test_a_confined_agent_reaches_listed_hosts_only() -> None:
    """AML-105: and is told before anything is resolved or sent."""

    async def story(call: Any, server: Server) -> None:
        run = run_of(call.app)
        assert (await run({}, context(is_confined=True))).value == {"ok": True}

    told(story, OK)

    async def elsewhere() -> None:
        text = definition("GET /x", base_url="https://api.example.com")
        async with memory_app(definitions={"tools/the-tool.tool.md": text}, settings=settings(), environment={}) as app:
            run = run_of(app)
            for refused in (run({}, context(is_confined=True)), run.probe(context(is_confined=True))):
                with pytest.raises(ExecutionFailed) as caught:
                    await refused
                assert (caught.value.error_class, caught.value.code) == ("policy_blocked", "address_forbidden")
                assert "allow_external_http" in caught.value.message

    asyncio.run(elsewhere())


AGENT = """---
spec_version: "1.2"
agent_id: desk
version: 1.0.0
status: active
meta: {name: Desk, description: Answers customers., owner: tests}
role: clerk
tools: {refs: [{ref: inside}, {ref: outside}]}
---
# Purpose
Answer.
# System behavior
Be brief.
# Rules
None.
"""
ROLE = """---
spec_version: "1.2"
iam_id: clerk
version: 1.0.0
status: active
meta: {name: Clerk, description: May look., owner: tests}
tools: [{ref: inside}, {ref: outside}]
---
"""


def test_an_agent_that_does_not_allow_other_hosts_reaches_none() -> None:
    """AML-105: `allow_external_http` is false unless said; a call outside the list is blocked before sending."""

    async def main() -> None:
        async with asyncio.timeout(BOUND), serving(OK) as server:
            files = {
                "agents/desk.agent.md": AGENT,
                "iam/clerk.iam.md": ROLE,
                "tools/inside.tool.md": definition("GET /x", base_url=server.url, tool_id="inside"),
                "tools/outside.tool.md": definition("GET /x", base_url="https://8.8.8.8", tool_id="outside"),
            }
            async with memory_app(definitions=files, settings=settings(), policy=ALLOW, environment={}) as app:
                surface = app.surface(agent="desk")
                inside: Any = await surface.call("inside", {}, wait=10)
                outside: Any = await surface.call("outside", {}, wait=10)
                assert inside.status == "succeeded", inside.error
                assert (outside.error.error_class, outside.error.error_code) == ("policy_blocked", "address_forbidden")
                assert "allow_external_http" in outside.error.message

    asyncio.run(main())


@pytest.mark.parametrize(
    ("status", "error_class"),
    [(401, "credential_missing"), (403, "permission_denied"), (500, "dependency_unavailable")],
)
def test_a_probe_tells_what_is_wrong(status: int, error_class: str) -> None:
    async def story(call: Any, server: Server) -> None:
        with pytest.raises(ExecutionFailed) as caught:
            await run_of(call.app).probe(context())
        assert caught.value.error_class == error_class
        assert [(seen.method, seen.target) for seen in server.seen] == [("HEAD", "/v1")]

    told(
        story, answer(status), "POST /x", kind="action", base_path="/v1", credentials=BEARER, environment={"TOKEN": "t"}
    )


def test_a_probe_names_host_and_credentials_and_calls_no_tool() -> None:
    async def story(call: Any, server: Server) -> None:
        said = await run_of(call.app).probe(context())
        assert "127.0.0.1 answers" in said
        assert "TOKEN" in said
        assert SECRET not in said
        assert [seen.method for seen in server.seen] == ["HEAD"]

    told(story, answer(404), "POST /x", kind="action", credentials=BEARER, environment={"TOKEN": SECRET})


def test_a_secret_in_a_stored_file_is_not_stored() -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call()
        assert result.status == "succeeded", result.error
        assert SECRET.encode() not in await call.surface.payload(result.native_output_ref)

    body = answer(200, b"\0" * 70_000 + SECRET.encode() + b"\0" * 70_000, media_type="image/png")
    told(story, body, credentials=BEARER, environment={"TOKEN": SECRET}, results=ResultSettings())
