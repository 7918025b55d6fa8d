"""`ferrule pending`: the calls that wait for a person.

Each is shown as a card: who asks for what, why, with exactly which input, until when.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator

import click

from ferrule.cli.inbox import PersonInbox, open_inbox
from ferrule.cli.options import json_option, workspace_option
from ferrule.cli.show.output import has_colour
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.runtime.approval.check import format_approvers
from ferrule.runtime.approval.inbox_item import InboxItem

_BOLD, _RED, _YELLOW, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[0m"
_RISKS = {"critical": _RED, "high": _RED, "medium": _YELLOW}
_LABEL = 10
_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def card_lines(waiting: InboxItem, *, in_colour: bool = False) -> str:
    """Formats one call in full, with its complete input."""
    request = waiting.request
    version = f" {request.tool_version}" if request.tool_version else ""
    title = f"{request.tool_title} ({request.tool_id}{version})"
    risk = f"{request.risk} risk"
    if in_colour:
        title, risk = f"{_BOLD}{sanitize(title)}{_PLAIN}", f"{_RISKS.get(request.risk, '')}{risk}{_PLAIN}"
    lines = [f"{request.invocation_id}  {title if in_colour else sanitize(title)}  {risk}"]
    for label, text in _fields(waiting):
        first, *rest = text.split("\n")
        lines.append(f"  {label:<{_LABEL}}{sanitize(first)}")
        lines += [" " * (_LABEL + 2) + sanitize(line) for line in rest]
    return "\n".join(lines) + "\n"


def _fields(waiting: InboxItem) -> Iterator[tuple[str, str]]:
    request = waiting.request
    agent = f"{request.agent} for " if request.agent else ""
    yield "asks", f"{agent}{request.principal}, {format_duration(waiting.age_seconds)} ago"
    yield "because", " ".join(request.message.split("\n"))
    if waiting.says != request.tool_title:
        yield "does", " ".join(waiting.says.split())
    if waiting.damage is None:
        edited = f"\n(as {waiting.edited_by} changed it)" if waiting.edited_by else ""
        yield "input", json.dumps(waiting.input, indent=2, ensure_ascii=False) + edited
    if request.purpose == "approval":
        yield "needs", _needs(waiting)
    if request.purpose == "input":
        yield "for", _describe_assignees(waiting)
    if waiting.answer_schema:
        yield "answer", json.dumps(waiting.answer_schema, ensure_ascii=False)
    if waiting.expires_in_seconds is not None:
        left = waiting.expires_in_seconds
        yield "expires", f"in {format_duration(left)}" if left > 0 else f"{format_duration(-left)} ago"
    for place, update in enumerate(request.suggested_updates):
        rule = json.dumps(update.get("rule", update), ensure_ascii=False)
        yield f"rule {place}", f"{rule}\n(suggested; --accept-rule {place} takes it into the policy)"
    if waiting.damage is not None:
        yield "DAMAGED", f"{waiting.damage}; 'ferrule audit verify' tells more"
    elif waiting.will_not_run is not None:
        yield "ended", f"{waiting.will_not_run}; it does not go on, whoever answers it"
    elif waiting.why_not is not None:
        verb = "answer" if request.purpose == "input" else "approve"
        yield "you", f"cannot {verb} it: {waiting.why_not}"


def _needs(waiting: InboxItem) -> str:
    requirement = waiting.request.requirement
    people = "1 person" if requirement.people <= 1 else f"{requirement.people} people"
    text = f"{people}: {format_approvers(requirement)}"
    if requirement.not_requester:
        text += f", not {waiting.request.principal}"
    if waiting.approvals:
        names = ", ".join(answer.by for answer in waiting.approvals)
        text += f"; approved so far by {names}"
    return text


def _describe_assignees(waiting: InboxItem) -> str:
    """Describes who a task is for, and who delegated it."""
    requirement = waiting.request.requirement
    who = f"a reply by {requirement.reply_channel}" if requirement.is_reply_only else format_approvers(requirement)
    lines = [who]
    for each in waiting.delegations:
        because = f": {each.reason}" if each.reason else ""
        lines.append(f"handed on to {each.to} by {each.by}{because}")
    return "\n".join(lines)


def format_duration(seconds: float) -> str:
    """Formats a duration in its two largest units: `23 h 57 min`."""
    left, parts = int(seconds), []
    for size, name in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {name}")
    return " ".join(parts[:2]) or "0 s"


_ANSWERS = (
    ("approval", "'ferrule approve ID' or 'ferrule reject ID --reason WHY'"),
    ("input", "'ferrule answer ID ANSWER' or 'ferrule delegate ID PERSON'"),
    ("outcome", "'ferrule settle ID --happened --reason HOW' (or --did-not-happen)"),
)
"""How to answer, by what is asked."""
_LOOK_SECONDS = 1.0


@click.command()
@click.option("--watch", is_flag=True, help="Keep showing the list as it changes, until Ctrl-C.")
@json_option
@workspace_option
def command(path: str, as_json: bool, watch: bool) -> int:
    """List the calls that wait for a person, oldest first: what each would do, who asks, why, and until when."""
    try:
        asyncio.run(_pending(path, as_json, watch))
    except KeyboardInterrupt:
        if not watch:
            raise
        sys.stderr.write("\n")
    return 0


async def _pending(path: str, as_json: bool, watch: bool) -> None:
    async with open_inbox(path) as person:
        items = await person.inbox.pending()
        print_pending(items, as_json)
        while watch:
            items = await _wait_for_change(person, items)
            if sys.stdout.isatty() and not as_json:
                sys.stdout.write("\x1b[2J\x1b[H")
            print_pending(items, as_json)


async def _wait_for_change(person: PersonInbox, before: list[InboxItem]) -> list[InboxItem]:
    """Waits until the list changes, and returns it."""
    while True:
        newest = await person.app.store.rows_before(None, 1)
        items = await person.inbox.pending()
        if [_state(item) for item in items] != [_state(item) for item in before]:
            return items
        await person.app.store.wait_after(newest[0].seq if newest else 0, _LOOK_SECONDS)


def _state(item: InboxItem) -> tuple[object, ...]:
    request, counts = item.request, (len(item.approvals), len(item.delegations))
    return request.invocation_id, request.requested_at, item.state, item.binding, counts, item.will_not_run


def print_pending(items: list[InboxItem], as_json: bool) -> None:
    """Prints the list."""
    if as_json:
        click.echo(json.dumps([item.to_dict() for item in items], indent=2, ensure_ascii=False))
    else:
        in_colour = has_colour(sys.stdout)
        sys.stdout.writelines(card_lines(item, in_colour=in_colour) + "\n" for item in items)
        sys.stdout.write(_summary(items))
    sys.stdout.flush()


def _summary(items: list[InboxItem]) -> str:
    if not items:
        return "nothing waits for a person\n"
    noun = "1 call waits" if len(items) == 1 else f"{len(items)} calls wait"
    asked = {item.request.purpose for item in items}
    return f"{noun}; answer with {' or '.join(words for purpose, words in _ANSWERS if purpose in asked)}\n"
