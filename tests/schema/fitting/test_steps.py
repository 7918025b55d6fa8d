"""Steps that do nothing are dropped, and those that are left point at one another by their new numbers."""

from __future__ import annotations

import msgspec

from ferrule.schema.fitting.steps import (
    KEEP,
    CannotFit,
    FittedMember,
    FittedShape,
    Items,
    JsonText,
    Members,
    Option,
    Pairs,
    Same,
    Step,
    Steps,
    UnionChoice,
    Wrapped,
    drop_idle_steps,
)


def test_no_step_is_no_table() -> None:
    assert drop_idle_steps([JsonText()], KEEP) == ()


def test_steps_that_leave_every_value_as_it_is_are_dropped() -> None:
    assert drop_idle_steps([Same(), Items((0,), 0), Members((FittedMember("a", step=1),))], 2) == ()


def test_steps_are_numbered_anew_from_the_first_on() -> None:
    steps: list[Step] = [
        JsonText(),
        Same(),
        Items((), 0),
        Pairs(2),
        Members((FittedMember("a", step=3), FittedMember("b", step=1))),
    ]
    assert drop_idle_steps(steps, 4) == (Members((FittedMember("a", step=1),)), Pairs(2), Items((), 3), JsonText())


def test_a_circle_of_steps_is_kept_where_something_in_it_acts() -> None:
    acting: list[Step] = [Items((), 1), Members((FittedMember("a", was="a b"), FittedMember("below", step=0)))]
    assert drop_idle_steps(acting, 0) == (
        Items((), 1),
        Members((FittedMember("a", was="a b"), FittedMember("below", step=0))),
    )
    idle: list[Step] = [Items((), 1), Members((FittedMember("below", step=0),))]
    assert drop_idle_steps(idle, 0) == ()


def test_members_that_do_nothing_are_kept_beside_a_list_of_others() -> None:
    listed = Members((FittedMember("a"), FittedMember("b", is_absent_null=True)), others="more", others_step=1)
    assert drop_idle_steps([listed, Same()], 0) == (
        Members((FittedMember("a"), FittedMember("b", is_absent_null=True)), others="more", others_step=KEEP),
    )
    assert drop_idle_steps([Members((FittedMember("a"), FittedMember("b", is_absent_null=True))), Same()], 0) == (
        Members((FittedMember("b", is_absent_null=True),)),
    )


def test_options_and_wrappings_are_numbered_too() -> None:
    option = Option(FittedShape(frozenset({"string"})), frozenset({"object"}), 0, "{}")
    steps: list[Step] = [JsonText(), UnionChoice((option,)), Wrapped("arguments", 1)]
    wrapped, choice, text = drop_idle_steps(steps, 2)
    assert wrapped == Wrapped("arguments", 1) and text == JsonText()
    assert isinstance(choice, UnionChoice) and choice.options == (msgspec.structs.replace(option, step=2),)


def test_a_table_can_be_kept_and_read_again() -> None:
    steps: Steps = (
        Members((FittedMember("a", "a b", 1, True),), others="o"),
        Items((KEEP, 2), 3),
        Pairs(3),
        JsonText(),
    )
    assert msgspec.json.decode(msgspec.json.encode(steps), type=Steps) == steps


def test_what_is_unfit_says_where() -> None:
    assert str(CannotFit("it is no schema", "properties/a")) == "properties/a: it is no schema"
    assert str(CannotFit("it is too large")) == "it is too large"
