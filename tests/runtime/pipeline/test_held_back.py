"""What a surface or a mask holds back stays back: denied tools are judged, sensitive values are in no error and no row."""

from __future__ import annotations

import asyncio

import ferrule
from ferrule.model.result import Result
from ferrule.testing import memory_app

CARD = "4111222233334444"
DENY = '[[rules]]\nid = "no-refunds"\ndecision = "deny"\ntool = "*.refund"\n'


@ferrule.tool(read_only=True, sensitive=("card",))
async def charge(card: str) -> str:
    """Charges a card."""
    raise ferrule.ToolFailed(f"the card {card} is refused")


@ferrule.tool(read_only=True, sensitive=("card",))
async def look(card: str) -> dict[str, str]:
    """Looks a card up."""
    return {"card": card}


@ferrule.tool(read_only=True)
async def refund(amount: int) -> int:
    """Refunds an amount."""
    return amount


def test_a_tool_denied_by_a_rule_is_off_the_surface_and_still_judged() -> None:
    """AT-38, AT-129, AT-132: arguments come first, then the rule, with a decision on record."""

    async def story() -> None:
        async with memory_app(tools=[refund], policy=DENY) as app:
            surface = app.surface()
            entry = surface.surface.find("refund")
            assert entry is not None and (entry.standing, entry.reason) == ("excluded", "policy_blocked")
            wrong = await surface.call("refund", {"amount": "much"})
            assert isinstance(wrong, Result) and wrong.error is not None
            assert wrong.error.error_class == "schema_validation_failed"
            denied = await surface.call("refund", {"amount": 1})
            assert isinstance(denied, Result) and denied.error is not None
            assert (denied.status, denied.error.error_class) == ("denied", "permission_denied")
            (row,) = await app.store.rows_of(denied.invocation_id)
            assert row.segment().decisions[0].ruling.rule_refs[0] == "no-refunds"

    asyncio.run(story())


def test_a_sensitive_value_a_tool_repeats_is_in_no_error_and_no_row() -> None:
    """AT-84: neither in what a model reads about a failure, nor in what is kept of an answer."""

    async def story() -> None:
        async with memory_app(tools=[charge, look]) as app:
            surface = app.surface()
            failed = await surface.call("charge", {"card": CARD})
            assert isinstance(failed, Result) and failed.error is not None
            assert failed.error.message == "the card [REDACTED] is refused"
            answered = await surface.call("look", {"card": CARD})
            assert isinstance(answered, Result) and answered.value == {"card": "[REDACTED]"}
            for row in await app.store.rows_after(0):
                assert CARD.encode() not in row.body + (row.payload or b"")

    asyncio.run(story())
