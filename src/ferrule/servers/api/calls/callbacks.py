"""Answers from outside: whoever was posted a task answers it with the token that came with it, and needs no other credential."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec

from ferrule.contracts.receiver import Fate
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.problems import Problem
from ferrule.servers.api.reply import Replied, Reply
from ferrule.servers.api.says import says

_PATIENCE_SECONDS = 20.0


class CallbackBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The answer to a task."""

    token: Annotated[str, says("The token that the task came with.", max_length=1000)]
    value: Annotated[Any, says("As the task's `answer_schema` wants it.")]


class CallbackState(msgspec.Struct, kw_only=True):
    """What became of an answer."""

    fate: Annotated[str, says("`taken`, or `duplicate` for a task that was answered already.")]


async def take_answer(ask: Ask) -> Replied:
    """Answer a task that was posted with a token."""
    body = ask.body(CallbackBody)
    leave = await ask.edge.turnstile.enter(ask.caller)
    taking: asyncio.Task[Fate] = ask.background.keep(ask.edge.app.answer_callback(body.token, body.value))
    taking.add_done_callback(lambda _: leave())
    await asyncio.wait({taking}, timeout=_PATIENCE_SECONDS)
    if not taking.done():  # it was taken, and the call goes on for longer than anybody has to wait for
        return Reply(CallbackState(fate="taken"), 202)
    fate = taking.result()
    if fate in ("refused", "unknown"):
        raise Problem(
            404, "not_taken", "nothing waits for this answer: the token is not valid, or the answer does not fit"
        )
    return Reply(CallbackState(fate=fate))
