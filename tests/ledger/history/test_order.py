"""What a row tells of its call, in one line: the place of a step counts before its time, and time never goes back."""

from __future__ import annotations

from ferrule.ledger.history.order import (
    AnswerGiven,
    CallStep,
    DecisionMade,
    HookBegan,
    HookEnded,
    InputMutated,
    StateEntered,
    is_first,
    order_steps,
)
from ferrule.model.journal import StoredEntry
from tests.ledger.history.rows import Ledger, Writer, approved_edited, hooked, success, two_people


def steps(row: StoredEntry) -> list[CallStep]:
    return order_steps(row, row.segment())


def words(row: StoredEntry) -> list[str]:
    """The steps in short: a state by its name, anything else by its kind."""
    return [step.fact.state if isinstance(step.fact, StateEntered) else type(step.fact).__name__ for step in steps(row)]


def test_a_plain_call_goes_from_state_to_state_with_its_decision_before_it_runs() -> None:
    ledger = Ledger()
    success(ledger)
    assert words(ledger.rows[0]) == ["planned", "selected", "arguments_ready", "DecisionMade", "running", "succeeded"]
    befores = [step.fact.before for step in steps(ledger.rows[0]) if isinstance(step.fact, StateEntered)]
    assert befores == [None, "planned", "selected", "arguments_ready", "running"]


def test_a_clock_that_stands_still_does_not_change_the_order() -> None:
    """Everything happened at once, and still each step has its place."""
    ledger = Ledger()
    writer = Writer(ledger, "inv_1", tick=0).enter("planned", "selected", "arguments_ready", "pre_hooks_running")
    writer.hook("pre_tool_use").mutate("hook", "amount").decide("allow")
    writer.enter("running", "post_hooks_running").hook("post_tool_use").enter("succeeded").row("call")
    assert words(ledger.rows[0]) == [
        "planned", "selected", "arguments_ready", "pre_hooks_running", "HookBegan", "HookEnded", "InputMutated", "DecisionMade",
        "running", "post_hooks_running", "HookBegan", "HookEnded", "succeeded",
    ]  # fmt: skip


def test_hooks_and_changes_stand_where_they_happened() -> None:
    ledger = Ledger()
    hooked(ledger)
    found = [step.fact for step in steps(ledger.rows[0])]
    began, ended = (next(fact for fact in found if isinstance(fact, kind)) for kind in (HookBegan, HookEnded))
    assert began.run.hook_id == ended.run.hook_id == "cents"
    places = [number for number, fact in enumerate(found) if isinstance(fact, InputMutated | DecisionMade)]
    assert found.index(ended) < places[0] < places[1] < found.index(StateEntered("approved", "pre_hooks_running"))


def test_a_decision_of_a_clock_set_forward_does_not_come_after_what_it_led_to() -> None:
    ledger = Ledger()
    writer = Writer(ledger, "inv_1").enter("planned", "selected", "arguments_ready")
    writer.created_at += 3_600_000_000
    writer.decide("allow")
    writer.created_at -= 3_600_000_000
    writer.enter("running", "succeeded").row("call")
    found = steps(ledger.rows[0])
    assert words(ledger.rows[0]) == ["planned", "selected", "arguments_ready", "DecisionMade", "running", "succeeded"]
    assert [step.at for step in found] == sorted(step.at for step in found)
    assert found[-1].at < 1_000_000


def test_the_first_row_begins_with_planned_also_where_it_is_not_written_and_no_later_row_does() -> None:
    ledger = Ledger()
    Writer(ledger, "inv_1").enter("selected", "arguments_ready", "running", "succeeded").row("call")
    assert words(ledger.rows[0])[:2] == ["planned", "selected"]
    later = Ledger()
    approved_edited(later)
    assert [is_first(row, row.segment()) for row in later.rows] == [True, False, False, False]
    assert all("planned" not in words(row) for row in later.rows[1:])


def test_an_answer_is_a_step_of_its_own_until_something_is_decided_by_it() -> None:
    ledger = Ledger()
    two_people(ledger)
    assert words(ledger.rows[1]) == ["AnswerGiven"]
    answered = steps(ledger.rows[1])[0].fact
    assert isinstance(answered, AnswerGiven) and answered.answer.by == "bob"
    assert words(ledger.rows[3]) == ["DecisionMade", "running"]
