"""Keys of the workspace at a running server: whom they make, and that a change of them counts at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from ferrule.access.keys import Access
from ferrule.access.last_use import COARSE_SECONDS
from ferrule.access.tokens import KeyLimits
from ferrule.infra.tasks import resolve
from ferrule.model.approval import ADMIN, APPROVE, CALL, Identity
from ferrule.model.serving import GrantSettings, ServeSettings
from ferrule.servers.asgi import HttpRequest
from ferrule.servers.auth.callers import Caller, Refused
from ferrule.servers.auth.gate import GuardedGate
from tests.driven import driven


async def never() -> dict[str, object]:
    raise AssertionError("who calls is known before the body is read")


def bearing(secret: str) -> HttpRequest:
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {secret}".encode())]
    return HttpRequest({"method": "POST", "path": "/mcp", "headers": headers}, never)


async def refused(gate: GuardedGate, secret: str) -> int:
    try:
        await resolve(gate.caller(bearing(secret)))
    except Refused as refusal:
        return refusal.status
    return 0


async def soon(ask: Callable[[], Awaitable[int]], expected: int) -> float:
    """How long it takes until the answer is this one; a second is the most that people may wait."""
    began = time.monotonic()
    while await ask() != expected:
        assert time.monotonic() - began < 20
        await asyncio.sleep(0.005)
    return time.monotonic() - began


@driven
async def test_a_key_makes_exactly_the_caller_that_it_is_bound_to(tmp_path: Path) -> None:
    access = Access(tmp_path)
    limits = KeyLimits(tenant="acme", agent="desk", role="clerk", surface="small")
    token, secret = access.add(access.local_owner(), "bot", [CALL, ADMIN], ["support"], limits)
    gate = GuardedGate(ServeSettings(), access)
    caller = await resolve(gate.caller(bearing(secret)))
    identity = Identity("bot", f"token:{token.id}", frozenset({CALL, ADMIN}), frozenset({"support"}), tenant="acme")
    assert caller == Caller(identity, "acme", "desk", "clerk", "small", is_operator=True)
    assert caller.oversees("acme") and not caller.oversees("default") and not caller.sees("bot", "default")
    await gate.aclose()


@driven
async def test_the_first_two_tokens_are_for_the_whole_workspace(tmp_path: Path) -> None:
    access = Access(tmp_path)
    access.local_owner()
    gate = GuardedGate(ServeSettings(), access)
    owner, agent = [
        await resolve(gate.caller(bearing((tmp_path / ".ferrule/keys" / name).read_text().strip())))
        for name in ("owner.token", "agent.token")
    ]
    assert owner.is_operator and owner.oversees("acme") and owner.identity.scopes == {APPROVE, ADMIN}
    assert not agent.is_operator and not agent.sees("somebody", "default") and agent.sees("agents", "default")
    await gate.aclose()


@driven
async def test_what_a_key_says_itself_stands_whatever_grants_say(tmp_path: Path) -> None:
    grants = (
        GrantSettings(of_tenant="acme", role="guest", agent="other", tenant="evil"),
        GrantSettings(issuer="local", role="clerk", tenant="shop"),
    )
    access = Access(tmp_path)
    _, bound = access.add(access.local_owner(), "bot", [CALL], (), KeyLimits(tenant="acme", agent="desk"))
    _, free = access.add(access.local_owner(), "cat", [CALL])
    gate = GuardedGate(ServeSettings(grants=grants), access)
    one, two = await resolve(gate.caller(bearing(bound))), await resolve(gate.caller(bearing(free)))
    assert (one.tenant, one.agent, one.role, one.identity.tenant) == ("acme", "desk", "guest", "acme")
    assert (two.tenant, two.agent, two.role, two.identity.tenant) == ("shop", None, "clerk", "shop")
    await gate.aclose()


@driven
async def test_revoking_and_rotating_count_at_once_in_a_running_server(tmp_path: Path) -> None:
    elsewhere = Access(tmp_path)  # as another process has it
    owner = elsewhere.local_owner()
    token, secret = elsewhere.add(owner, "bot", [CALL])
    gate = GuardedGate(ServeSettings(), Access(tmp_path))
    assert await refused(gate, secret) == 0
    _, newer = elsewhere.rotate(owner, token.id, 3600)
    assert await soon(lambda: refused(gate, newer), 0) < 1
    assert await refused(gate, secret) == 0
    _, newest = elsewhere.rotate(owner, token.id, 0)
    for old in (secret, newer):
        assert await soon(lambda old=old: refused(gate, old), 401) < 1  # type: ignore[misc]
    assert await refused(gate, newest) == 0
    elsewhere.revoke(owner, token.id)
    assert await soon(lambda: refused(gate, newest), 401) < 1
    await gate.aclose()


@driven
async def test_keys_and_graces_end_by_themselves(tmp_path: Path) -> None:
    now = 2_000_000_000.0
    access = Access(tmp_path, clock=lambda: now)
    owner = access.local_owner()
    _, short = access.add(owner, "bot", [CALL], (), KeyLimits(expires="2033-05-18T04:33:20Z"))  # an hour from then
    token, old = access.add(owner, "cat", [CALL])
    gate = GuardedGate(ServeSettings(), access, clock=lambda: now)
    _, new = access.rotate(owner, token.id, 60)
    assert [await refused(gate, one) for one in (short, old, new)] == [0, 0, 0]
    now += 61
    assert [await refused(gate, one) for one in (short, old, new)] == [0, 401, 0]
    now += 3600
    assert [await refused(gate, one) for one in (short, old, new)] == [401, 401, 0]
    now -= 7200  # a clock that is set back brings nothing back that was forgotten, and is noticed
    access.revoke(owner, token.id)
    assert await refused(gate, new) == 401
    await gate.aclose()


@driven
async def test_the_last_use_is_written_down_roughly_and_not_for_every_request(tmp_path: Path) -> None:
    now = 2_000_000_000.0
    access = Access(tmp_path, clock=lambda: now)
    token, secret = access.add(access.local_owner(), "bot", [CALL])
    state = access.state()
    gate = GuardedGate(ServeSettings(), access, clock=lambda: now)
    for _ in range(100):
        await resolve(gate.caller(bearing(secret)))
    await gate.aclose()
    assert access.use.times() == {token.id: "2033-05-18T03:33:20Z"}
    now += COARSE_SECONDS / 2
    await resolve(gate.caller(bearing(secret)))
    await gate.aclose()
    assert access.use.times() == {token.id: "2033-05-18T03:33:20Z"}
    now += COARSE_SECONDS
    await resolve(gate.caller(bearing(secret)))
    await gate.aclose()
    assert access.use.times() == {token.id: "2033-05-18T03:48:20Z"}
    assert access.state() == state
    (tmp_path / ".ferrule/keys/used.json").write_text("{broken")
    assert access.use.times() == {}


@driven
async def test_keys_that_cannot_be_read_let_nobody_in(tmp_path: Path) -> None:
    access = Access(tmp_path)
    _, secret = access.add(access.local_owner(), "bot", [CALL])
    gate = GuardedGate(ServeSettings(), access)
    assert await refused(gate, secret) == 0
    file = tmp_path / ".ferrule/keys/tokens.json"
    good = file.read_bytes()
    file.write_text("{")
    assert await soon(lambda: refused(gate, secret), 503) < 1
    with pytest.raises(Refused) as unreadable:
        await resolve(gate.caller(bearing(secret)))
    assert "damaged" in unreadable.value.detail
    file.write_bytes(good)
    assert await soon(lambda: refused(gate, secret), 0) < 1
    await gate.aclose()


@driven
async def test_guesses_fill_no_memory(tmp_path: Path) -> None:
    access = Access(tmp_path)
    access.local_owner()
    gate = GuardedGate(ServeSettings(), access)
    for number in range(200):
        assert await refused(gate, f"frl_{number:08x}_guess") == 401
    assert not gate._known
    await gate.aclose()
