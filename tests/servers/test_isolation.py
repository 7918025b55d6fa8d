"""Nobody learns anything about, or does anything to, what belongs to another principal or another tenant (MCP-285).

The same name in two tenants is two principals. Whoever is not allowed gets the answer that a call which does not exist gets.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import ferrule
from ferrule.access.keys import Access
from ferrule.access.tokens import KeyLimits
from ferrule.app.surface import SurfaceHandle
from ferrule.contracts.payloads import PayloadGone
from ferrule.errors import AccessError, InboxError
from ferrule.infra.tasks import resolve
from ferrule.model.approval import ADMIN, APPROVE, CALL, Identity
from ferrule.runtime.pipeline.results.payload_access import find_payload, list_payload_uris
from ferrule.servers.asgi import HttpRequest
from ferrule.servers.auth.callers import Caller
from ferrule.servers.edge import scope_run_id
from tests.driven import driven
from tests.servers.local_server import InProcessServer, Reply, running_server

NOBODY = "inv_00000000000000000000dead"
LARGE = "x" * 50_000


@ferrule.tool(read_only=True)
def report(size: int = 1) -> str:
    """Write a report."""
    return LARGE[:size]


@ferrule.tool(approval_required=True)
def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"


class Place(NamedTuple):
    """A workspace with people of two tenants."""

    stand: InProcessServer
    secrets: dict[str, str]

    async def ask(self, who: str, method: str, path: str, body: Any = b"", **headers: str) -> Reply:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.stand.ask(method, path, body, {"Authorization": f"Bearer {self.secrets[who]}", **given})

    async def call(self, who: str, tool: str, arguments: dict[str, Any], **headers: str) -> dict[str, Any]:
        reply = await self.ask(who, "POST", "/v1/calls", {"tool": tool, "arguments": arguments}, **headers)
        assert reply.status in (200, 202), reply
        found: dict[str, Any] = reply.json()
        return found

    async def caller(self, who: str) -> Caller:
        async def nothing() -> dict[str, Any]:
            return {"type": "http.disconnect"}

        headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {self.secrets[who]}".encode())]
        return await resolve(
            self.stand.edge.gate.caller(HttpRequest({"method": "GET", "path": "/", "headers": headers}, nothing))
        )

    async def surface(self, who: str, run_id: str = "") -> SurfaceHandle:
        return await resolve(self.stand.edge.surface(await self.caller(who), run_id))


PEOPLE: dict[str, tuple[str, list[str], str | None]] = {
    "ada": ("ada", [CALL], "acme"),
    "ada's second": ("ada", [CALL], "acme"),
    "bob": ("bob", [CALL], "acme"),
    "ada of shop": ("ada", [CALL], "shop"),
    "approver": ("amy", [APPROVE], "acme"),
    "approver of shop": ("sam", [APPROVE], "shop"),
    "operator": ("oda", [ADMIN], "acme"),
    "operator of shop": ("ole", [ADMIN, APPROVE, CALL], "shop"),
    "approver of all": ("zoe", [APPROVE], None),
}
STRANGERS = ("bob", "ada of shop", "operator of shop")


@asynccontextmanager
async def place(folder: Path) -> AsyncIterator[Place]:
    async with running_server(folder, tools=[report, pay], auth=True) as stand:
        access = Access(folder)
        owner = access.local_owner()
        secrets = {
            key: access.add(owner, name, scopes, (), KeyLimits(tenant=tenant))[1]
            for key, (name, scopes, tenant) in PEOPLE.items()
        }
        yield Place(stand, {**secrets, "owner": stand.owner()})


def plain(reply: Reply, call: str) -> tuple[int, str]:
    """An answer without what differs between any two."""
    return reply.status, re.sub(r"req_[0-9a-z]+", "…", reply.body.decode()).replace(call, "CALL")


WAYS: tuple[tuple[str, str, Any], ...] = (
    ("GET", "/v1/calls/CALL", b""),
    ("GET", "/v1/calls/CALL/events", b""),
    ("POST", "/v1/calls/CALL/cancel", {"reason": "mine"}),
    ("POST", "/v1/calls/CALL/answers", {"answers": {"a": {}}}),
    ("GET", "/v1/calls/CALL/payloads", b""),
    ("GET", "/v1/calls/CALL/payloads/0", b""),
    ("GET", "/v1/invocations/CALL", b""),
    ("GET", "/v1/invocations/CALL/explain", b""),
    ("GET", "/v1/invocations/CALL/events", b""),
    ("GET", "/v1/approvals/CALL", b""),
    ("POST", "/v1/approvals/CALL/approve", {}),
    ("POST", "/v1/approvals/CALL/reject", {"reason": "no"}),
    ("POST", "/v1/approvals/CALL/answer", {"value": 1}),
    ("POST", "/v1/approvals/CALL/settle", {"happened": True, "reason": "no"}),
)


@driven
async def test_calls_of_others_look_like_calls_that_are_not_there(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        ended = (await here.call("ada", "report", {"size": 40_000}))["invocation_id"]
        parked = (await here.call("ada", "pay", {"amount": 5}))["invocation_id"]
        for call in (ended, parked):
            for who in (*STRANGERS, "approver of shop"):
                for method, path, body in WAYS:
                    one = await here.ask(who, method, path.replace("CALL", call), body)
                    none = await here.ask(who, method, path.replace("CALL", NOBODY), body)
                    assert plain(one, call) == plain(none, NOBODY), (who, path)
                    assert one.status in (403, 404), (who, path, one)
        assert (await here.ask("ada", "GET", f"/v1/calls/{parked}")).json()["state"] == "awaiting_approval"
        for who in ("ada", "ada's second", "operator", "owner"):
            assert (await here.ask(who, "GET", f"/v1/calls/{ended}")).status == 200, who


@driven
async def test_an_approver_sees_and_answers_what_waits_in_their_own_tenant_alone(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        calls = {who: (await here.call(who, "pay", {"amount": 5}))["invocation_id"] for who in ("ada", "ada of shop")}
        seen = {}
        for who in ("approver", "approver of shop", "approver of all", "operator", "operator of shop", "owner"):
            items = (await here.ask(who, "GET", "/v1/approvals")).json()["items"]
            seen[who] = {item["invocation_id"] for item in items}
        acme, shop = {calls["ada"]}, {calls["ada of shop"]}
        assert seen == {
            "approver": acme, "operator": acme, "approver of shop": shop, "operator of shop": shop,
            "approver of all": acme | shop, "owner": acme | shop,
        }  # fmt: skip
        path = f"/v1/approvals/{calls['ada']}/approve"
        assert (await here.ask("approver of shop", "POST", path, {})).status == 404
        assert (await here.ask("approver", "POST", path, {})).status == 200
        assert (await here.ask("ada", "GET", f"/v1/calls/{calls['ada']}")).json()["result"]["is_error"] is False
        other = await here.ask("ada of shop", "GET", f"/v1/calls/{calls['ada of shop']}")
        assert other.json()["state"] == "awaiting_approval"


@driven
async def test_an_inbox_keeps_to_its_tenant_whatever_is_asked_of_it(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        call = (await here.call("ada", "pay", {"amount": 5}))["invocation_id"]
        scopes = frozenset({APPROVE, ADMIN, CALL})
        inbox = here.stand.app.inbox(Identity("sam", "token:x", scopes, tenant="shop"))
        assert await inbox.pending() == [] and await inbox.resolve(call[:12]) == call[:12]
        for attempt in (
            inbox.get(call), inbox.approve(call), inbox.reject(call, reason="no"), inbox.answer(call, 1),
            inbox.delegate(call, "sam"), inbox.settle(call, happened=True, note="x"),
        ):  # fmt: skip
            with pytest.raises(InboxError, match="there is no call"):
                await attempt
        own = here.stand.app.inbox(Identity("amy", "token:y", scopes, tenant="acme"))
        with pytest.raises(AccessError, match="other tenants"):  # rules hold for everybody
            await own.approve(call, accept_rules=[0])
        assert (await own.approve(call)).state == "approved"


@driven
async def test_a_surface_gives_nothing_of_anybody_elses(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        ended = (await here.call("ada", "report", {"size": 40_000}))["invocation_id"]
        parked = (await here.call("ada", "pay", {"amount": 5}))["invocation_id"]
        uri = f"ferrule://results/{ended}/0"
        own = await here.surface("ada's second")
        uris = [entry.uri for entry in await _stored(here.stand, ended)]
        for call in (ended, parked):
            for who in STRANGERS:
                surface = await here.surface(who)
                assert await surface.result(call) is None
                assert await surface.cancel(call) is None
                assert await surface.answer(call, {"a": {}}) is None
                assert [said async for said in surface.follow(call)] == []
                for one in (*uris, uri):
                    with pytest.raises(PayloadGone, match="there is no payload"):
                        await surface.payload(one)
            assert await own.result(call) is not None
        for one in uris:
            assert len(await own.payload(one)) > 0
            with pytest.raises(PayloadGone):  # whoever runs another tenant
                await here.stand.app.payload(one, tenant="shop")
            assert await here.stand.app.payload(one, tenant="acme") == await here.stand.app.payload(one)


async def _stored(stand: InProcessServer, call: str) -> list[Any]:
    rows = await stand.app.store.rows_of(call)
    return [await find_payload(stand.app.services, uri, principal=None) for uri in list_payload_uris(rows)]


@driven
async def test_lists_of_calls_are_of_ones_own_or_of_the_tenant_one_oversees(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        for who in ("ada", "bob", "ada of shop", "ada's second"):
            await here.call(who, "report", {})
        counts = {}
        for who in ("ada", "bob", "ada of shop", "operator", "operator of shop", "owner"):
            page = (await here.ask(who, "GET", "/v1/invocations")).json()
            counts[who] = len(page["items"])
        assert counts == {"ada": 2, "bob": 1, "ada of shop": 1, "operator": 3, "operator of shop": 1, "owner": 4}


@driven
async def test_what_holds_for_everybody_is_not_for_the_operator_of_one_tenant(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        ways: tuple[tuple[str, str, Any], ...] = (
            ("GET", "/v1/catalog", b""), ("GET", "/v1/audit/export", b""), ("GET", "/v1/audit/heads", b""),
            ("POST", "/v1/policy/reload", b""), ("GET", "/v1/switches", b""),
        )  # fmt: skip
        for method, path, body in ways:
            assert (await here.ask("operator", method, path, body)).status == 403, path
            assert (await here.ask("owner", method, path, body)).status in (200, 409), path


@driven
async def test_an_idempotency_key_is_ones_own(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        said = {
            who: (await here.call(who, "pay", {"amount": 5}, Idempotency_Key="k1"))["invocation_id"]
            for who in ("ada", "ada's second", "bob", "ada of shop")
        }
        assert said["ada"] == said["ada's second"]
        assert len(set(said.values())) == 3


@driven
async def test_a_run_that_somebody_else_calls_the_same_is_another_run(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        runs = {
            who: (await here.surface(who, "run-1")).request.run_id
            for who in ("ada", "ada's second", "bob", "ada of shop")
        }
        assert runs["ada"] == runs["ada's second"] and len(set(runs.values())) == 3
        ada = await here.caller("ada")
        assert runs["ada"] == scope_run_id(ada, "run-1") and scope_run_id(ada, "run-1").startswith("run-1~")


@driven
async def test_an_interruption_stops_ones_own_calls_alone(tmp_path: Path) -> None:
    """Also where everybody's calls are ordered in one lane."""
    began, ended = asyncio.Semaphore(0), []

    @ferrule.tool(read_only=True, concurrency_safe=True)
    async def wait(name: str) -> str:
        """Wait for ever."""
        began.release()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)
        return ""

    toml = '[scheduler]\nscope = "workspace"\ninterrupt_behavior = "cancel"\n'
    async with running_server(tmp_path, tools=[wait], auth=True, toml=toml) as stand:
        app = stand.app
        ada, other = app.surface(principal="ada", tenant="acme"), app.surface(principal="ada", tenant="shop")
        calls = [asyncio.create_task(one.call("wait", {"name": one.request.tenant})) for one in (ada, other)]
        for _ in calls:
            await began.acquire()
        told = other.interrupt()
        assert (await calls[1]).status == "canceled"
        assert len(told) == 1 and ended == ["shop"] and not calls[0].done()
        other.discard(list(app.services.live.calls))
        await asyncio.sleep(0)
        assert not calls[0].done()
        ada.interrupt()
        assert (await calls[0]).status == "canceled"


@driven
async def test_keys_of_a_tenant_are_changed_by_its_own_administrators(tmp_path: Path) -> None:
    access = Access(tmp_path)
    owner = access.local_owner()
    theirs, _ = access.add(owner, "ada", [CALL], (), KeyLimits(tenant="acme"))
    foreign, _ = access.add(owner, "sam", [CALL], (), KeyLimits(tenant="shop"))
    whole = access.list_tokens()[0]
    admin = Identity("oda", "token:x", frozenset({ADMIN}), tenant="acme")
    for limits in (KeyLimits(), KeyLimits(tenant="shop")):
        with pytest.raises(AccessError, match="acme"):
            access.add(admin, "eve", [CALL], (), limits)
    for key in (foreign, whole):
        with pytest.raises(AccessError, match="there is no key"):
            access.revoke(admin, key.id)
        with pytest.raises(AccessError, match="there is no key"):
            access.rotate(admin, key.id)
    access.add(admin, "eve", [CALL], (), KeyLimits(tenant="acme"))
    assert access.revoke(admin, theirs.id).revoked is not None
