"""Records hold everything the standard lists, in the types it gives: AT-150, AT-151, AT-159, AT-211, AT-250."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest

from ferrule.contracts.executor import Output
from ferrule.contracts.hook import HookOutput
from tests.spec.running_app import TRUSTED, FunctionHook, make_tool, run_async, running_app

FACTS = {
    "is_concurrency_safe", "is_read_only", "is_destructive", "is_open_world", "requires_exclusive_context",
    "context_modifier_policy", "resource_locks",
}  # fmt: skip
CHANGE = (
    "schema_version", "mutation_id", "invocation_id", "source_type", "source_ref", "from_input_ref", "to_input_ref",
    "changed_fields", "created_at",
)  # fmt: skip


@run_async
async def test_at_150_changes_are_whole_records_that_form_a_chain() -> None:
    """AT-150, AT-151: from the model's input to what ran, also over a person's edit."""
    ask = '[[rules]]\ndecision = "ask"\ntool = "*"\n'
    hooks = [
        FunctionHook(lambda told, city=city: HookOutput(updated_input={"city": city}), name=city) for city in "abc"
    ]
    async with running_app(hooks=hooks, policy=ask) as on:
        await on.park()
        result = await on.answer({"city": "d"})
        changes = (await on.read_story(result)).to_record()["mutations"]
        assert [change["source_ref"] for change in changes[:3]] == ["a", "b", "c"]
        assert changes[3]["source_type"] == "permission_prompt"
        assert all(change[name] for change in changes for name in CHANGE)
        assert len({change["mutation_id"] for change in changes}) == 4
        assert [note.mutation_id for note in result.input_mutations] == [change["mutation_id"] for change in changes]
        assert all(one["to_input_ref"] == other["from_input_ref"] for one, other in pairwise(changes))
        refs = [changes[0]["from_input_ref"], *(change["to_input_ref"] for change in changes)]
        assert len(set(refs)) == 5
        assert [ref.rpartition("/")[2] for ref in refs] == [
            "model_input", "input.1", "input.2", "permission_input", "call_input",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("interface", "wanted"),
    [
        ({}, (False, "allow_serial_only", [])),
        ({"requires_exclusive_context": True}, (True, "allow_serial_only", [])),
        ({"context_modifier_policy": "forbid"}, (False, "forbid", [])),
        ({"context_modifier_policy": "defer_until_batch_complete"}, (False, "allow_serial_only", [])),
        ({"resource_locks": ["stock"]}, (False, "allow_serial_only", [{"key": "stock", "mode": "exclusive"}])),
        ({"resource_locks": ["{city}"]}, (False, "allow_serial_only", [{"key": "Bern", "mode": "exclusive"}])),
    ],
)
@run_async
async def test_at_159_seven_facts_are_on_record(interface: dict[str, Any], wanted: tuple[Any, ...]) -> None:
    """AT-159: for every call that found its tool, whether or not they follow from its input."""
    async with running_app(make_tool(interface=interface)) as on:
        facts = (await on.read_record(await on.call()))["scheduler"]
        assert set(facts) == FACTS
        told = (facts["requires_exclusive_context"], facts["context_modifier_policy"], facts["resource_locks"])
        assert told == wanted


@run_async
async def test_at_250_a_calls_record_names_what_it_made() -> None:
    """AT-250, AT-251: from the call to the artifact, and back."""
    output = Output({"done": True}, artifact_refs=({"artifact_id": "report-7", "uri": "store:report-7"},))
    async with running_app(make_tool(), script={"shop.search": output}) as on:
        result = await on.call()
        [ref] = (await on.read_record(result))["artifact_refs"]
        assert (ref["artifact_id"], ref["invocation_id"]) == ("report-7", result.invocation_id)


@run_async
async def test_at_211_a_result_is_told_in_what_json_has() -> None:
    """AT-211: lists are lists, at every depth; nothing has to be written out first."""
    hook = FunctionHook(
        lambda told: HookOutput(updated_input={"city": "Basel"}, additional_context=({"type": "text"},))
    )
    deny = '[[rules]]\ndecision = "deny"\ntool = "*"\nwhen = { city = "Basel" }\n'
    for policy in (TRUSTED, deny):
        async with running_app(hooks=(hook,), policy=policy) as on:
            result = await on.call()
            assert _is_json(result.to_record()), result.to_record()


def _is_json(value: Any) -> bool:
    if type(value) is dict:
        return all(type(name) is str and _is_json(each) for name, each in value.items())
    if type(value) is list:
        return all(map(_is_json, value))
    return value is None or type(value) in (str, int, float, bool)


@pytest.mark.parametrize("event", ["pre_tool_use", "permission_decision"])
@run_async
async def test_at_268_nothing_is_decided_before_a_hook_that_was_asked_first(event: Any) -> None:
    """AT-268, AT-145: the times of hooks, decision and phases follow one another, also where a hook answers at once."""
    async with running_app(hooks=(FunctionHook(lambda told: time.sleep(0.002), event),)) as on:
        story = (await on.read_story(await on.call())).to_record()
        [hook], [decision] = story["hooks"], story["decisions"]
        phase = next(
            each
            for each in story["phases"]
            if each["phase"] == ("pre_hooks" if event == "pre_tool_use" else "permission")
        )
        assert phase["duration_ms"] >= 2
        if event == "pre_tool_use":
            assert decision["decided_at"] >= hook["ended_at"]
        ends = [each["ended_after_ms"] for each in story["phases"]]
        assert ends == sorted(ends)
