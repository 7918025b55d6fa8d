"""A call that is looked at and not made: what it lacks, what would be mended, what the policy says; nothing is recorded."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ferrule.app.preview.preview import Preview, preview_call, preview_tool
from ferrule.contracts.policy import PolicyEngine
from tests.runtime.pipeline.arguments.contracts import fields
from tests.runtime.policy.samples import rule
from tests.spec.running_app import RunningApp, make_tool, run_async, running_app

DENY_ROME = rule("deny", id="no-rome", when={"city": "Rome"}) + rule("ask", id="first", tool="search")


async def looked_at(on: RunningApp, arguments: bytes, name: str = "search") -> Preview:
    """What would become of a call; afterwards nothing has run and nothing is on record."""
    await on.app.store.flush()
    before = len(await on.app.store.rows_after(0, 100))
    found = await on.surface.check(name, arguments)
    await on.app.store.flush()
    assert len(await on.app.store.rows_after(0, 100)) == before
    assert not on.has_run
    return found


@pytest.mark.parametrize(("city", "behavior", "rule_id"), [("Bern", "ask", "first"), ("Rome", "deny", "no-rome")])
@run_async
async def test_the_policy_is_asked_about_these_arguments(city: str, behavior: str, rule_id: str) -> None:
    async with running_app(policy=DENY_ROME) as on:
        checked = await looked_at(on, b'{"city": "%s"}' % city.encode())
        assert checked.stop is None and checked.ruling is not None
        assert (checked.ruling.behavior, checked.ruling.rule_refs[0]) == (behavior, rule_id)


@run_async
async def test_arguments_that_do_not_fit_are_told_each_with_its_place() -> None:
    async with running_app() as on:
        checked = await looked_at(on, b'{"city": [], "country": 1}')
        assert checked.stop is not None and checked.ruling is None
        assert checked.stop.error_class == "schema_validation_failed"
        assert {complaint.path for complaint in checked.complaints} == {("city",), ("country",)}


@run_async
async def test_what_would_be_filled_in_is_told() -> None:
    async with running_app(
        make_tool(schema=fields(city={"type": "string"}), input_contract={"defaults": {"city": "Bern"}})
    ) as on:
        checked = await looked_at(on, b"{}")
        assert (checked.stop, checked.changed_fields) == (None, ("city",))
        assert checked.ruling is not None and checked.ruling.behavior == "allow"


@run_async
async def test_a_name_that_leads_nowhere_is_refused_as_a_call_would_be() -> None:
    async with running_app() as on:
        checked = await looked_at(on, b"{}", "serch")
        assert checked.stop is not None and checked.ruling is None
        assert (checked.stop.error_class, checked.stop.code) == ("unknown_tool", "tool_not_found")


@run_async
async def test_a_tool_whose_schema_was_not_loaded_is_refused() -> None:
    async with running_app(make_tool(), make_tool("later", interface={"should_defer": True})) as on:
        checked = await looked_at(on, b'{"city": "Bern"}', "later")
        assert checked.stop is not None and checked.stop.error_class == "schema_not_loaded"


@run_async
async def test_the_verdict_is_the_word_of_every_other_place() -> None:
    """A tool that is asked about in a list, by itself and with arguments has one answer."""
    async with running_app(policy=DENY_ROME) as on:
        entry, request, engine = on.surface.surface.find("search"), on.surface.surface.request, on.app.policy
        assert entry is not None
        assert preview_tool(entry, request, engine).verdict == "depends"
        assert (await preview_call(entry, request, engine, {"city": "Rome"})).verdict == "deny"
        assert [(await looked_at(on, text)).verdict for text in (b'{"city": "Rome"}', b'{"city": "Bern"}', b"{}")] == [
            "deny",
            "ask",
            "blocked",
        ]


@pytest.mark.parametrize("made_by", ["program", "decide"])
@run_async
async def test_a_policy_that_fails_denies_in_the_words_of_a_call(made_by: str) -> None:
    class Failing:
        fixed = None

        def program(self, *given: Any) -> Any:
            if made_by == "program":
                raise LookupError("on purpose")
            return self

        def decide(self, judged: Any) -> Any:
            raise LookupError("on purpose")

    async with running_app() as on:
        entry = on.surface.surface.find("search")
        assert entry is not None
        found = await preview_call(entry, on.surface.surface.request, cast(PolicyEngine, Failing()), {"city": "Rome"})
        assert (found.verdict, found.why) == (
            "deny",
            "the policy failed to decide (LookupError), so the answer is no",
        )
