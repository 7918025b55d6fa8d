"""The story of one call as text, for a terminal of 100 columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ferrule.cli.call_lookup import format_clock, format_duration
from ferrule.cli.show import story_news
from ferrule.cli.show.story_news import as_json, row, short
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.model.approval import Answer, ApprovalRequest
from ferrule.model.decision import Decision
from ferrule.model.failure import ToolError
from ferrule.model.journal import Mutation
from ferrule.model.story import InputView, Story
from ferrule.model.story_parts import FieldDifference
from ferrule.model.timestamps import LAST, milliseconds, parse_iso

_NEWS_SHOWN = frozenset({"cancel_requested", "cancel_acknowledged", "cancel_failed", "late_result"})
Bold = Callable[[str], str]


def story_lines(story: Story, bold: Bold) -> Iterator[str]:
    """Yields the page, line by line."""
    took = "" if story.duration_ms is None else f" after {format_duration(story.duration_ms)}"
    yield bold(sanitize(f"{story.invocation_id}  {story.header.tool_id}  {story.status}{took}"))
    yield from _who(story)
    sections = (
        ("input", _inputs(story)),
        ("changes", _changes(story)),
        ("hooks", _hooks(story)),
        ("decision", _decisions(story)),
        ("rules", _rules(story)),
        ("approval", _approval(story)),
        ("scheduling", story_news.scheduling_lines(story)),
        ("attempts", story_news.attempt_lines(story)),
        ("where it ran", _places(story)),
        ("progress", story_news.progress_lines(story)),
        ("cancel", story_news.cancel_lines(story)),
        ("phases", _phases(story)),
        ("states", _states(story)),
        ("result", _result(story)),
        ("late result", story_news.late_lines(story)),
        ("ledger", _ledger(story)),
    )
    for heading, lines in sections:
        found = list(lines)
        if found:
            yield from ("", bold(heading))
            yield from found


def _who(story: Story) -> Iterator[str]:
    header, notes = story.header, story.notes
    version = f"@{header.tool_version}" if header.tool_version else ""
    yield from row("tool", f"{header.tool_id}{version}  {header.dialect} {short(header.tool_digest)}")
    through = f" through {header.agent}" if header.agent else ""
    yield from row("for", f"{header.principal}{through}, over {header.channel}")
    yield from row("in", f"run {header.run_id}, tenant {header.tenant}")
    digests = f"catalog {short(header.catalog_digest)}, policy {short(header.policy_digest)}"
    yield from row("surface", f"{header.surface_id}, {digests}")
    yield from row("planned", f"{format_clock(story.created_at)} UTC")
    if "native_call_id" in notes:
        yield from row("caller's id", str(notes["native_call_id"]))
    if "retry_of" in notes:
        yield from row("repeats", str(notes["retry_of"]))
    if "trace_id" in notes:
        yield from row("trace", str(notes["trace_id"]))
    if isinstance(kept := notes.get("cache"), dict):
        shared = f"shared the call {kept['shared_with']}" if "shared_with" in kept else "kept from an earlier call"
        age = f", {kept['age_seconds']} s before" if "age_seconds" in kept else ""
        yield from row("result", f"{shared}{age}; the system behind was not asked")


def _places(story: Story) -> Iterator[str]:
    """Yields the names of the call in the systems it went to (AT-258)."""
    for ref in story.notes.get("native_refs", ()):
        facts = ", ".join(f"{name} {value}" for name, value in ref.items() if name != "source")
        yield from row(str(ref.get("source", "")), facts)


def _inputs(story: Story) -> Iterator[str]:
    if not story.inputs:
        yield from row("", "erased" if story.is_erased else "none")
        return
    first, *others = story.inputs
    yield from row(first.name, as_json(first.value))
    for view in others:
        yield from _input(view)


def _input(view: InputView) -> Iterator[str]:
    if not view.differences:
        yield from row(view.name, "the same")
    for number, difference in enumerate(view.differences):
        yield from row(view.name if number == 0 else "", _difference(difference))


def _difference(difference: FieldDifference) -> str:
    match difference.kind:
        case "added":
            return f"{difference.path}: added {as_json(difference.after)}"
        case "removed":
            return f"{difference.path}: removed (was {as_json(difference.before)})"
        case _:
            return f"{difference.path}: {as_json(difference.before)} -> {as_json(difference.after)}"


def _changes(story: Story) -> Iterator[str]:
    for mutation in story.mutations:
        yield from row(", ".join(mutation.changed_fields) or "-", _mutation(mutation))


def _mutation(mutation: Mutation) -> str:
    because = f": {mutation.reason}" if mutation.reason else ""
    return f"by {mutation.source_ref} ({mutation.source_type.replace('_', ' ')}){because}"


def _hooks(story: Story) -> Iterator[str]:
    for run in story.hooks:
        kinds = ", ".join(str(output.get("type") or ", ".join(output)) for output in run.outputs) or "no answer"
        took = format_duration(milliseconds(run.ended - run.started))
        yield from row(run.hook_id, f"{run.hook_event} in {took}: {kinds}")


def _decisions(story: Story) -> Iterator[str]:
    if not story.decisions:
        yield from row("none", "the call ended before it was decided")
    for decision in story.decisions:
        yield from row(decision.ruling.behavior, _decision(decision))
        for note in decision.ruling.classifiers:
            said = f"{note.behavior} with {note.confidence:.0%}, may {note.authority}: {note.reason}"
            yield from row("", f"classifier {note.classifier_ref}: {said}")
        shadow = decision.ruling.shadow
        if shadow is not None:
            yield from row("", f"shadow policy {shadow.policy_ref} would say {shadow.behavior}: {shadow.message}")


def _decision(decision: Decision) -> str:
    ruling = decision.ruling
    rules = f"rule {', '.join(ruling.rule_refs)}" if ruling.rule_refs else ruling.reason_type.replace("_", " ")
    origin = f" from {ruling.source}" if ruling.source else ""
    by = f"by {decision.by}, " if decision.by else ""
    edited = ", who edited the input" if decision.user_modified else ""
    return f"{by}{rules}{origin}, mode {ruling.mode}{edited}: {ruling.message}"


def _rules(story: Story) -> Iterator[str]:
    if story.considered.verdict:
        yield from row("now", f"{story.considered.verdict}, were it made again")
    if story.considered.remark:
        yield from row("", story.considered.remark)
    for rule in sorted(story.considered.rules, key=lambda rule: not rule.is_matched):
        word = "matched" if rule.is_matched else "not matched"
        yield from row(word, f"{rule.rule_ref} ({rule.behavior}, {rule.source}): {rule.why}")


def _approval(story: Story) -> Iterator[str]:
    for request in story.requests:
        until = f"until {format_clock(request.expires_at)}" if request.expires_at <= LAST else "without an end"
        yield from row("asked", f"{format_clock(request.requested_at)}, {until}: {request.message}")
        yield from row("who may answer", _approvers(request))
    for handed in story.delegations:
        because = f": {handed['reason']}" if handed["reason"] else ""
        yield from row(
            "handed on", f"{format_clock(parse_iso(handed['at']))} by {handed['by']} to {handed['to']}{because}"
        )
    for at in story.reminders:
        yield from row("reminded", format_clock(at))
    for answer in story.answers:
        word = _verdict(story.requests[-1] if story.requests else None, answer)
        because = f": {answer.reason}" if answer.reason else ""
        yield from row(word, f"{format_clock(answer.answered_at)} by {answer.by} over {answer.channel}{because}")
    if story.requests and not story.answers:
        yield from row("answered", "by nobody")


def _verdict(request: ApprovalRequest | None, answer: Answer) -> str:
    is_yes = answer.verdict == "approve"
    match request.purpose if request is not None else "approval":
        case "outcome":
            return "it acted" if is_yes else "it did not act"
        case "input":
            return "answered" if is_yes else "refused"
        case _:
            return "approved" if is_yes else "rejected"


def _approvers(request: ApprovalRequest) -> str:
    needed = request.requirement
    who = ", ".join(needed.approvers) or "anybody with the approve scope"
    people = f", {needed.people} people" if needed.people > 1 else ""
    return f"{who}{people}{', not the requester' if needed.not_requester else ''} (risk {request.risk})"


def _phases(story: Story) -> Iterator[str]:
    for run in story.phases:
        if not run.is_run:
            said = "did not run" if story.ended_at is not None else "not told yet"
        elif run.duration is None:
            said = "ran, after the wait"
        else:
            said = format_duration(milliseconds(run.duration))
        yield f"  {run.phase:<25} {said:>9}"


def _states(story: Story) -> Iterator[str]:
    for move in story.moves:
        since = format_duration(milliseconds((move.at - story.created_at) * 1000))
        yield f"  {format_clock(move.at)}  {'+' + since:>10}  {move.state}"


def _result(story: Story) -> Iterator[str]:
    if not story.result_status:
        yield from row("none yet", _next_step(story))
        return
    yield from row("status", story.result_status)
    if story.error is not None:
        yield from _error(story.error)
    result = story.result
    if result is None:
        yield from row("content", "erased" if story.is_erased else "none")
    elif result.structured_content is not None:
        yield from row("content", as_json(result.structured_content))
    else:
        for block in result.content:
            yield from row("content", str(block["text"]) if block.get("type") == "text" else as_json(block))
    yield from story_news.storage_lines(story)


def _next_step(story: Story) -> str:
    steps = {
        "awaiting_approval": f"it waits for a person: ferrule approve {story.invocation_id}",
        "needs_input": "its tool waits for an answer: ferrule pending",
        "approved": "it is approved and goes on where its tool can run",
    }
    if any(row.kind == "unknown" for row in story.rows):
        return "its process ended while it ran, so nobody knows whether the tool acted: ferrule pending"
    return steps.get(story.status, "it is running")


def _error(error: ToolError) -> Iterator[str]:
    code = f" ({error.error_code})" if error.error_code != error.error_class else ""
    yield from row("error", f"{error.error_class}{code}: {error.message}")
    retry = error.retry
    advice = [error.recoverability.replace("_", " ")]
    advice.append("the same call can be repeated safely" if retry.retry_safe else "repeating it may act twice")
    if retry.approval_required_again:
        advice.append("it has to be approved again")
    if retry.retry_after is not None:
        advice.append(f"wait {retry.retry_after:g} s")
    yield from row("next attempt", "; ".join(advice))


def _ledger(story: Story) -> Iterator[str]:
    shown = [note for note in story.all_rows if note.kind != "news" or note.outcome in _NEWS_SHOWN]
    words = [note.outcome if note.kind == "news" else note.kind for note in shown]
    width = max(9, *map(len, words))
    for note, word in zip(shown, words, strict=True):
        erased = "  payload erased" if note.is_erased else ""
        yield f"  row {note.seq:<8} {format_clock(note.at)}  {word:<{width}} {note.hash.hex()[:16]}…{erased}"
    hidden = len(story.all_rows) - len(shown)
    if hidden:
        yield f"  and {hidden} {'row' if hidden == 1 else 'rows'} of progress"
