"""Steps that do nothing are dropped, and those that are left point at one another by their new numbers."""

from __future__ import annotations

import msgspec

from ferrule.schema.fitting.steps import (
    KEEP,
    Choice,
    Items,
    Member,
    Members,
    Option,
    Pairs,
    Same,
    Shape,
    Step,
    Steps,
    Text,
    Unfit,
    Wrapped,
    tidied,
)


def test_no_step_is_no_table() -> None:
    assert tidied([Text()], KEEP) == ()


def test_steps_that_leave_every_value_as_it_is_are_dropped() -> None:
    assert tidied([Same(), Items((0,), 0), Members((Member("a", step=1),))], 2) == ()


def test_steps_are_numbered_anew_from_the_first_on() -> None:
    steps: list[Step] = [Text(), Same(), Items((), 0), Pairs(2), Members((Member("a", step=3), Member("b", step=1)))]
    assert tidied(steps, 4) == (Members((Member("a", step=1),)), Pairs(2), Items((), 3), Text())


def test_a_circle_of_steps_is_kept_where_something_in_it_acts() -> None:
    acting: list[Step] = [Items((), 1), Members((Member("a", was="a b"), Member("below", step=0)))]
    assert tidied(acting, 0) == (Items((), 1), Members((Member("a", was="a b"), Member("below", step=0))))
    idle: list[Step] = [Items((), 1), Members((Member("below", step=0),))]
    assert tidied(idle, 0) == ()


def test_members_that_do_nothing_are_kept_beside_a_list_of_others() -> None:
    listed = Members((Member("a"), Member("b", is_absent_null=True)), others="more", others_step=1)
    assert tidied([listed, Same()], 0) == (
        Members((Member("a"), Member("b", is_absent_null=True)), others="more", others_step=KEEP),
    )
    assert tidied([Members((Member("a"), Member("b", is_absent_null=True))), Same()], 0) == (
        Members((Member("b", is_absent_null=True),)),
    )


def test_options_and_wrappings_are_numbered_too() -> None:
    option = Option(Shape(frozenset({"string"})), frozenset({"object"}), 0, "{}")
    steps: list[Step] = [Text(), Choice((option,)), Wrapped("arguments", 1)]
    wrapped, choice, text = tidied(steps, 2)
    assert wrapped == Wrapped("arguments", 1) and text == Text()
    assert isinstance(choice, Choice) and choice.options == (msgspec.structs.replace(option, step=2),)


def test_a_table_can_be_kept_and_read_again() -> None:
    steps: Steps = (Members((Member("a", "a b", 1, True),), others="o"), Items((KEEP, 2), 3), Pairs(3), Text())
    assert msgspec.json.decode(msgspec.json.encode(steps), type=Steps) == steps


def test_what_is_unfit_says_where() -> None:
    assert str(Unfit("it is no schema", "properties/a")) == "properties/a: it is no schema"
    assert str(Unfit("it is too large")) == "it is too large"
