"""The four inputs of a call, internal fields, defaults and secrets: AT-55 to AT-59 and AT-75 to AT-87."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.contracts.hook import HookOutput
from ferrule.errors import FerruleError
from ferrule.model.approval import APPROVE, Identity
from ferrule.testing import RecordingSink, ScriptedExecutor, memory_app
from tests.spec.running_app import BERN, TRUSTED, FunctionHook, make_tool, run_async, running_app

ROME = {"city": "Rome"}
OPEN: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
RUNTIME: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "tenant_key": {"type": "string", "visibility": "internal"}},
    "required": ["city"],
    "additionalProperties": False,
}
INTERNAL = {"runtime_input_schema": RUNTIME, "internal_only_fields": ["tenant_key"]}
INJECT = FunctionHook(
    lambda told: HookOutput(updated_input={**told.observable_input, "tenant_key": "t1"}), name="tenants"
)


def inject() -> FunctionHook:
    return FunctionHook(INJECT._run, name="tenants")


# Internal fields


@run_async
async def test_at_55_the_model_is_shown_what_it_may_produce() -> None:
    """AT-55, AT-56: no internal field in what is shown, in search, or in a hint."""
    shown = {**OPEN, "properties": {**OPEN["properties"], "tenant_key": {"type": "string"}}}
    internal = make_tool(schema=shown, input_contract=INTERNAL)
    async with running_app(internal) as on:
        [tool] = on.surface.tools().tools
        assert set(msgspec.json.decode(tool.input_schema)["properties"]) == {"city"}
        assert "tenant_key" not in repr(on.surface.tools())
        found = await on.surface.search("search")
        assert "tenant_key" not in repr(found.to_record())
        for arguments in ({}, {"city": 1}, {"city": "Bern", "tenant_kez": "x"}, {"city": "Bern", "more": 1}):
            result = await on.call("search", arguments)
            assert "tenant_key" not in repr(result.to_record())


@pytest.mark.parametrize("schema", [OPEN, {**OPEN, "additionalProperties": False}])
@run_async
async def test_at_59_the_model_may_not_send_an_internal_field(schema: dict[str, Any]) -> None:
    """AT-59: refused when parsed, also by a schema that allows additional properties."""
    async with running_app(make_tool(schema=schema, input_contract=INTERNAL)) as on:
        result = await on.call("search", {"city": "Bern", "tenant_key": "mine"})
        assert result.error is not None
        assert result.error.error_class == "schema_validation_failed"
        assert not on.has_run


@run_async
async def test_at_57_a_hook_may_add_an_internal_field() -> None:
    """AT-57, AT-58, AT-78: it reaches the tool; the result says who added it; a call without one says nothing."""
    async with running_app(make_tool(input_contract=INTERNAL), hooks=(inject(),)) as on:
        result = await on.call()
        assert on.executor.ran[0].arguments == {"city": "Bern", "tenant_key": "t1"}
        [note] = result.to_record()["input_mutations"]
        assert (note["source_type"], note["source_ref"]) == ("hook", "tenants")
        assert list(note["changed_fields"]) == ["tenant_key"]
        assert note["mutation_id"]
    async with running_app(make_tool(input_contract=INTERNAL)) as on:
        assert "input_mutations" not in (await on.call()).to_record()


# The four inputs


@run_async
async def test_at_75_four_inputs_stay_apart() -> None:
    """AT-75: a hook rewrites, a person edits, and each input is still on record. People see what the hook left."""
    hook = FunctionHook(lambda told: HookOutput(updated_input={"city": "Basel"}))
    async with running_app(policy="", hooks=(hook,)) as on:
        await on.park()
        record = await on.read_record(await on.answer(ROME))
        assert record["model_input"] == BERN
        assert record["observable_input"] == {"city": "Basel"}
        assert record["permission_input"] == {"city": "Basel"}
        assert record["call_input"] == ROME
        assert on.executor.ran[0].arguments == ROME


def vandal(told: Any) -> None:
    told.observable_input["filter"]["cities"].append("Rome")
    told.observable_input["extra"] = True


@run_async
async def test_at_76_nobody_changes_what_the_model_said() -> None:
    """AT-76, AT-77, AT-149: a hook and a tool that write into what they were given change nothing but their own copy."""
    schema = {"type": "object", "properties": {"filter": {"type": "object"}}}
    said = {"filter": {"cities": ["Bern"]}}
    hooks = (FunctionHook(vandal, name="vandal"), FunctionHook(lambda told: None, name="next"))

    def careless(arguments: dict[str, Any]) -> str:
        arguments["filter"]["cities"].clear()
        return "done"

    async with running_app(make_tool(schema=schema), hooks=hooks, default=careless) as on:
        record = await on.read_record(await on.call("search", said))
        assert said == {"filter": {"cities": ["Bern"]}}
        assert hooks[1].seen[0].observable_input == said
        assert on.executor.ran[0].arguments == said
        for name in ("model_input", "observable_input", "permission_input", "call_input"):
            assert record[name] == said


@run_async
async def test_at_79_every_difference_is_explained() -> None:
    """AT-79, AT-150, AT-151: two hooks and a person; the changed fields are the union of what mutations name."""
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in "abc"}}
    hooks = (
        FunctionHook(lambda told: HookOutput(updated_input={**told.observable_input, "a": "2"}), name="one"),
        FunctionHook(lambda told: HookOutput(updated_input={**told.observable_input, "b": "2"}), name="two"),
    )
    async with running_app(make_tool(schema=schema), hooks=hooks, policy="") as on:
        await on.park("search", {"a": "1", "b": "1", "c": "1"})
        result = await on.answer({"a": "2", "b": "2", "c": "2"})
        record, mutations = await on.read_record(result), (await on.read_story(result)).mutations
        assert hooks[1].seen[0].observable_input["a"] == "2"
        assert [(one.source_type, one.changed_fields) for one in mutations] == [
            ("hook", ("a",)),
            ("hook", ("b",)),
            ("permission_prompt", ("c",)),
        ]
        assert mutations[0].from_input == "model_input"
        differing = {name for name in "abc" if record["model_input"][name] != record["call_input"][name]}
        assert differing == {name for one in mutations for name in one.changed_fields}
        assert len(result.input_mutations) == 3


@run_async
async def test_at_80_what_was_approved_is_what_runs() -> None:
    """AT-80: an edited input is judged again; what the policy denies does not run because somebody edited it in."""
    policy = (
        '[[rules]]\nid = "no-rome"\ndecision = "deny"\ntool = "search"\nwhen = { city = "Rome" }\n'
        '[[rules]]\ndecision = "ask"\ntool = "search"\n'
    )
    async with running_app(policy=policy) as on:
        await on.park()
        result = await on.answer(ROME)
        assert result.error is not None
        assert result.error.error_class == "permission_denied"
        assert [made["behavior"] for made in await on.read_decisions(result)][-1] == "deny"
        assert not on.has_run


@run_async
async def test_at_80_a_hooks_change_is_what_is_judged() -> None:
    """AT-80: permission sees the changed input, not the model's."""
    hook = FunctionHook(lambda told: HookOutput(updated_input=ROME))
    policy = TRUSTED + '[[rules]]\ndecision = "deny"\ntool = "search"\nwhen = { city = "Rome" }\n'
    async with running_app(policy=policy, hooks=(hook,)) as on:
        result = await on.call()
        assert result.status == "denied"
        assert not on.has_run


@run_async
async def test_at_81_a_changed_input_is_validated() -> None:
    """AT-81: a hook's update that does not fit ends the call; nothing runs."""
    hook = FunctionHook(lambda told: HookOutput(updated_input={"city": 7}))
    async with running_app(hooks=(hook,)) as on:
        result = await on.call()
        assert result.error is not None
        assert result.error.error_class in ("schema_validation_failed", "invalid_arguments")
        assert (await on.read_record(result))["status"] == "validation_failed"
        assert not on.has_run


@run_async
async def test_at_81_an_edit_that_does_not_fit_is_refused_to_the_approver() -> None:
    """AT-81: the question stays as it was."""
    async with running_app(policy="") as on:
        waiting = await on.park()
        with pytest.raises(Exception, match="city"):
            await on.answer({"city": 7})
        assert (await on.read_record(waiting))["status"] == "awaiting_approval"
        assert not on.has_run


@pytest.mark.parametrize("words", ["forbid", False, {"hooks": "forbid", "prompts": "allow"}])
@run_async
async def test_at_82_a_contract_may_forbid_changes(words: Any) -> None:
    """AT-82: a hook's update is never applied, and that is on record."""
    hook = FunctionHook(lambda told: HookOutput(updated_input=ROME), name="rewriter")
    async with running_app(make_tool(input_contract={"mutation_policy": words}), hooks=(hook,)) as on:
        result = await on.call()
        assert all(ran.arguments == BERN for ran in on.executor.ran)
        story = await on.read_story(result)
        assert not story.mutations
        assert "rewriter" in repr((story.error, story.hooks))


@run_async
async def test_at_82_nor_may_a_person_change_it() -> None:
    """AT-82: an approver's edit is refused, and the call still waits."""
    async with running_app(make_tool(input_contract={"mutation_policy": "forbid"}), policy="") as on:
        waiting = await on.park()
        with pytest.raises(FerruleError, match="forbids"):
            await on.answer(ROME)
        assert (await on.read_record(waiting))["status"] == "awaiting_approval"
        assert not on.has_run


@run_async
async def test_at_83_defaults_fill_the_call_input_only() -> None:
    """AT-83, AT-79: and are recorded as a change by the runtime."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}, "limit": {"type": "integer"}}}
    async with running_app(make_tool(schema=schema, input_contract={"defaults": {"limit": 10}})) as on:
        result = await on.call()
        record = await on.read_record(result)
        assert record["model_input"] == BERN
        assert record["call_input"] == on.executor.ran[0].arguments == {"city": "Bern", "limit": 10}
        [mutation] = (await on.read_story(result)).mutations
        assert (mutation.source_type, mutation.changed_fields) == ("runtime", ("limit",))
        await on.call("search", {"city": "Bern", "limit": 3})
        assert on.executor.ran[1].arguments == {"city": "Bern", "limit": 3}


@run_async
async def test_aml_31_a_default_of_a_schema_is_never_sent() -> None:
    """AML-31: it informs; the tool receives no such field."""
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "limit": {"type": "integer", "default": 10}},
    }
    async with running_app(make_tool(schema=schema, dialect="aml")) as on:
        result = await on.call()
        assert on.executor.ran[0].arguments == BERN
        assert not (await on.read_story(result)).mutations


SECRET = "4111-1111-1111-1111"
CARD: dict[str, Any] = {
    "type": "object",
    "properties": {"card": {"type": "string"}, "order": {"type": "object", "properties": {"pin": {"type": "string"}}}},
    "required": ["card"],
}


@pytest.mark.parametrize("ending", ["succeeds", "fails", "asks", "denied", "does not fit"])
@run_async
async def test_at_84_a_sensitive_value_is_told_to_nobody_but_the_tool(ending: str) -> None:
    """AT-84, AT-253, AT-271: not in any event of any level, not in any record, not in the ledger's bytes."""
    pay = make_tool("pay", CARD, input_contract={"sensitive_fields": ["card", "order.pin"]})
    sink = RecordingSink()
    policy = {
        "asks": "",
        "denied": TRUSTED + '[[rules]]\ndecision = "deny"\ntool = "pay"\nwhen = { card = { present = true } }\n',
    }.get(ending, TRUSTED)
    failing = ExecutionFailed("execution_failed", "the bank said no")
    executor = ScriptedExecutor(default=failing if ending == "fails" else "paid")
    hook = FunctionHook(lambda told: None)
    arguments: dict[str, Any] = {"card": SECRET, "order": {"pin": SECRET}}
    if ending == "does not fit":
        arguments["order"]["pin"] = [SECRET]
    async with memory_app(tools=[pay], executors=[executor], policy=policy, sinks=[sink], hooks=[hook]) as app:
        outcome = await app.surface(principal="ada").call("pay", arguments)
        assert SECRET not in repr(outcome)
        rows = await app.store.rows_after(0)
        assert SECRET.encode() not in msgspec.msgpack.encode([(row.body, row.payload, row.mark) for row in rows])
        if ending == "asks":
            [waiting] = await app.inbox(_approver()).pending()
            assert SECRET not in repr(waiting)
            await app.inbox(_approver()).approve(outcome.invocation_id)
        if ending in ("succeeds", "fails", "asks"):
            assert executor.ran[0].arguments == arguments
        rows = await app.store.rows_after(0)
        assert SECRET.encode() not in msgspec.msgpack.encode([(row.body, row.payload) for row in rows])
        assert all(SECRET not in repr(each) for each in hook.seen)
    assert sink.events
    assert SECRET not in repr(sink.events)


def _approver() -> Identity:
    return Identity("bob", "desk", frozenset({APPROVE}))


@run_async
async def test_at_87_output_that_breaks_its_schema_is_not_passed_on() -> None:
    """AT-87: a failure of mapping, on record."""
    schema = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    async with running_app(
        make_tool(output_schema=schema), script={"shop.search": [{"count": "many"}, {"count": 2}]}
    ) as on:
        bad, good = await on.call(), await on.call()
        assert bad.error is not None
        assert (bad.error.error_class, bad.error.error_code) == ("execution_failed", "result_mapping_failed")
        assert "many" not in repr(bad.to_record())
        assert good.structured_content == {"count": 2}
