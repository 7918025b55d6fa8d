"""Tidies a table of steps: what does nothing goes, what nothing points at goes, and the first step is the one for the whole."""

from __future__ import annotations

from ferrule.schema.fitting.steps import KEEP, Choice, Items, Member, Members, Option, Pairs, Same, Step, Text, Wrapped


def tidied(steps: list[Step], first: int) -> tuple[Step, ...]:
    """The steps that do something, starting with the given one."""
    if first == KEEP:
        return ()
    if len(steps) == 1 and isinstance(only := steps[0], Members) and not _is_still(only):
        return (only,)
    idle = _idle(steps)
    if first in idle:
        return ()
    order = [first]
    numbers = {first: 0}
    for number in order:
        for below in _below(steps[number]):
            if below not in idle and below not in numbers:
                numbers[below] = len(order)
                order.append(below)
    return tuple(_renumbered(steps[number], numbers) for number in order)


def _idle(steps: list[Step]) -> set[int]:
    """The steps that leave every value as it is: all of which that is not known otherwise."""
    idle = {KEEP, *range(len(steps))}
    was = -1
    while was != len(idle):
        was = len(idle)
        for number, step in enumerate(steps):
            if number in idle and not (_is_still(step) and idle.issuperset(_below(step))):
                idle.discard(number)
    return idle


def _is_still(step: Step) -> bool:
    match step:
        case Text() | Pairs() | Wrapped():
            return False
        case Members():
            return step.others is None and not any(one.is_absent_null or one.was is not None for one in step.members)
        case Items() | Choice() | Same():
            return True


def _below(step: Step) -> tuple[int, ...]:
    match step:
        case Members():
            return (*(member.step for member in step.members), step.others_step)
        case Items():
            return (*step.first, step.rest)
        case Pairs() | Wrapped():
            return (step.step,)
        case Choice():
            return tuple(option.step for option in step.options)
        case Text() | Same():
            return ()


def _renumbered(step: Step, numbers: dict[int, int]) -> Step:
    match step:
        case Members():
            members = tuple(
                Member(one.name, one.was, numbers.get(one.step, KEEP), one.is_absent_null)
                for one in step.members
                if step.others is not None or one.is_absent_null or one.was is not None or one.step in numbers
            )
            return Members(members, step.is_open, step.others, numbers.get(step.others_step, KEEP))
        case Items():
            return Items(tuple(numbers.get(one, KEEP) for one in step.first), numbers.get(step.rest, KEEP))
        case Pairs():
            return Pairs(numbers.get(step.step, KEEP))
        case Wrapped():
            return Wrapped(step.name, numbers.get(step.step, KEEP))
        case Choice():
            return Choice(
                tuple(Option(one.shape, one.was, numbers.get(one.step, KEEP), one.accepts) for one in step.options)
            )
        case Text() | Same():
            return step
