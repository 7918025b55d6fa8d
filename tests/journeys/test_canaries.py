"""Two hundred secrets in every encoding, told by tools, hooks, guardrails and people: they appear nowhere (promise 8).

A real workspace on disk. Everything that can tell something tells secrets there; then every byte of every file, every row,
event, log line and answer is looked through. FERRULE_SOAK=N plays N such stories, each with other secrets in other places.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import random
import sqlite3
import sys
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from ferrule.app.app import App
from ferrule.app.opening import open_app
from ferrule.app.surface import SurfaceHandle
from ferrule.ledger.audit.records import make_invocation_record
from ferrule.ledger.history.expand import expand_row
from ferrule.model.approval import ADMIN, APPROVE, Identity
from ferrule.model.journal import StoredEntry
from ferrule.model.result import Pending, Result
from ferrule.model.story import Story
from tests.cli.run import ferrule
from tests.journeys import leaking
from tests.journeys.canaries import SPELLINGS, Canary, Spill, canaries, found_in
from tests.runtime.hooks.fake_provider import running_provider
from tests.runtime.notifiers.receiver import running_receiver

SEED = 20_260
SEEDS = range(SEED, SEED + int(os.environ.get("FERRULE_SOAK", "1")))
PERSON = Identity("ada", "token:ada", frozenset({APPROVE, ADMIN}))
TALKERS = (
    "say_text", "say_value", "say_deep", "say_much", "say_much_value", "say_wrong", "say_everywhere", "show_blocks",
    "show_large", "show_picture", "keep_private", "keep_value", "fail_inline", "fail_thread", "fail_group",
    "fail_told", "fail_often", "fail_partly", "fail_large", "talk", "talk_later", "talk_to_log", "pour_bytes",
    "pour_async", "pour_broken", "pour_own", "hide", "hide_and_fail",
)  # fmt: skip
HOOKED = (
    "pre talks", "pre stops", "pre denies", "pre asks", "pre changes", "decision talks", "decision stops",
    "decision denies", "request talks", "request denies", "post talks", "post stops", "post changes", "post swells",
    "late talks", "late stops", "kept talks", "kept stops",
)  # fmt: skip
EVENTS = ("pre_tool_use", "permission_decision", "permission_request", "post_tool_use", "result_persistence")
AGENT_TOOL = {
    "schema_version": "0.2.0",
    "namespace": "shop",
    "description": "Breaks.",
    "lifecycle": "available",
    "tool_kind": "function",
    "input_contract": {
        "model_input_schema": {
            "type": "object",
            "properties": {"secret": {"type": "string", "description": "What nobody may know.", "sensitive": True}},
            "required": ["secret"],
        }
    },
}


class Ears:
    """Everything that was told to somebody."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, bytes]] = []

    def hear(self, what: str, said: Any) -> None:
        """Keep it, as whoever got it could write it down."""
        if isinstance(said, bytes):
            self.heard.append((what, said))
            return
        told = msgspec.to_builtins(said, enc_hook=repr) if isinstance(said, msgspec.Struct) else said
        self.heard.append((what, repr(told).encode("utf-8", "surrogatepass")))
        self.heard.append((what, msgspec.json.encode(told, enc_hook=repr)))

    def leaks(self) -> list[str]:
        """What has a secret in it."""
        return [f"{what}: {where}" for what, said in self.heard if (where := found_in(said)) is not None]


class Lines(logging.Handler):
    """Log lines, whole: as a formatter writes them, and with everything that hangs on the record."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.text = io.StringIO()
        self.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.text.write(self.format(record) + "\n")
        self.text.write(repr(record.__dict__) + "\n")
        if record.exc_info:
            self.text.write("".join(traceback.format_exception(*record.exc_info)) + "\n")


@contextmanager
def listening() -> Iterator[Lines]:
    """Every log line of the process."""
    lines, root = Lines(), logging.getLogger()
    ours = logging.getLogger("ferrule")
    before = root.level, ours.level
    root.addHandler(lines)
    root.setLevel(logging.DEBUG)
    ours.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        root.removeHandler(lines)
        root.setLevel(before[0])
        ours.setLevel(before[1])


def write_workspace(root: Path, known: list[Canary], *, webhook: str, hook: str) -> dict[str, str]:
    """The files of the workspace; gives the environment it is opened with."""
    env = [canary for canary in known if canary.kind == "env"]
    config = [canary for canary in known if canary.kind == "config"]
    signing = [canary for canary in known if canary.kind == "signing"]
    names = ", ".join(f'"{canary.name}"' for canary in env)
    program = root / "hooks" / "echo.py"
    program.parent.mkdir(parents=True)
    program.write_text(
        "import json, os, sys\n"
        "told, secret = sys.stdin.read(), os.environ['ENV_000']\n"
        "sys.stderr.write(secret)\n"
        "if 'command breaks' in told: print(secret); sys.exit(3)\n"
        "if 'command misspeaks' in told: print(json.dumps({'stop': 1, secret: secret})); sys.exit()\n"
        "if 'command stops' in told: print(json.dumps({'stop': secret})); sys.exit()\n"
        "print(json.dumps({'messages': [secret], 'additional_context': [{'type': 'text', 'text': secret + told}]}))\n"
    )
    (root / "ferrule.toml").write_text(f"""
namespace = "shop"
[redaction]
secrets_env = [{names}]
[network]
allow = ["127.0.0.1"]
[retries]
max_attempts = 2
[policy]
mode = "trusted"
[[approval.notify]]
kind = "webhook"
url = "{webhook}"
secret_env = "{signing[0].name}"
include_input = true
[[sinks]]
kind = "jsonl"
path = "events.jsonl"
[[sinks]]
kind = "jsonl"
path = "full.jsonl"
level = "full"
[[sinks]]
kind = "log"
level = "full"
[[hooks]]
id = "program"
event = "post_tool_use"
kind = "command"
command = ["{sys.executable}", "-S", "hooks/echo.py"]
env = ["ENV_000"]
tools = ["command"]
[[hooks]]
id = "address"
event = "pre_tool_use"
kind = "http"
url = "{hook}"
secret_env = "{signing[1].name}"
tools = ["address"]
[[guardrails]]
id = "judge"
at = ["tool_input", "tool_output"]
kind = "function"
function = "tests.journeys.leaking:judge"
tools = ["note"]
""")
    manifest = {
        "apiVersion": "adl.inference-gateway.com/v1",
        "kind": "Agent",
        "metadata": {"name": "clerk", "description": "Finds orders.", "version": "1.0.0"},
        "spec": {
            "capabilities": {"streaming": False, "pushNotifications": False, "stateTransitionHistory": False},
            "config": {"keys": {canary.name: f"${{{canary.name}}}" for canary in config}},
            "tools": [
                {
                    "id": "look", "name": "look", "description": "Look an order up.", "tags": ["orders"],
                    "inject": ["logger", "config.keys"],
                    "schema": {"type": "object", "properties": {"order": {"type": "string", "description": "Which."}},
                               "required": ["order"]},
                }
            ],
            "server": {"port": 8080},
            "language": {"go": {"module": "example.com/clerk", "version": "1.24"}},
        },
    }  # fmt: skip
    (root / "clerk.adl.yaml").write_text(yaml.safe_dump(manifest))
    for name, more in (
        ("crash", {}),
        ("flaky", {"retry_policy": {"max_attempts": 3, "backoff_ms": 1}}),
        ("drop", {"output_contract": {"persistence_policy": "drop_with_reason", "max_inline_chars": 40}}),
        ("cut", {"output_contract": {"persistence_policy": "never_persist", "max_inline_chars": 400}}),
    ):
        (root / f"{name}.json").write_text(json.dumps({**AGENT_TOOL, "tool_id": f"shop.{name}", "name": name, **more}))
    return {canary.name: canary.value for canary in (*env, *config, *signing)}


class Stage:
    """The workspace while it is open."""

    def __init__(self, app: App, ears: Ears, chatter: leaking.Chatter, known: list[Canary]) -> None:
        self.app = app
        self.ears = ears
        self.chatter = chatter
        self.known = known
        self.spill = chatter.spill
        self.surface: SurfaceHandle = app.surface(principal="ann")
        self.inbox = app.inbox(PERSON)

    async def call(self, name: str, arguments: Any = None, **options: Any) -> Result | Pending:
        """A call, and everything its caller hears of it."""
        outcome = await self.surface.call(name, arguments, **options)
        self.ears.hear(f"{name} ({str(arguments)[:40]})", outcome)
        if isinstance(outcome, Result):
            self.ears.hear(f"{name} as a record", outcome.to_record())
            self.ears.hear(f"{name} as text", outcome.text)
        return outcome

    def of(self, kind: str) -> list[str]:
        """The secrets of a kind."""
        return [canary.value for canary in self.known if canary.kind == kind]


@asynccontextmanager
async def staged(root: Path, known: list[Canary], env: dict[str, str], seed: int) -> AsyncIterator[Stage]:
    open_known = [canary for canary in known if canary.kind in ("env", "config", "signing")]
    spill = Spill(open_known, seed, each=24)
    leaking.TOLD_BY_GUARDRAILS[:] = [spill]
    chatter = leaking.Chatter(spill, [canary for canary in known if canary.kind == "hidden"])
    async with open_app(
        root,
        tools=chatter.tools(),
        executors=[leaking.Crashing(spill)],
        hooks=leaking.hooks(spill),
        environment=os.environ | env,
    ) as app:
        yield Stage(app, Ears(), chatter, known)


async def play(stage: Stage) -> None:
    """Everything that can be told is."""
    for name in TALKERS:
        await stage.call(name)
    await stage.call("look", {"order": "A-1"})
    assert stage.chatter.config[0] == {
        canary.name: canary.value for canary in stage.known if canary.kind == "config"
    }, "the tool gets its config as it is"
    await _inputs(stage)
    await _sensitive(stage)
    await _hooks(stage)
    await _people(stage)
    await _odd(stage)
    while not stage.spill.is_all_said:
        await stage.call("say_value")
        await stage.call("say_text")


async def _inputs(stage: Stage) -> None:
    spill, given = stage.spill, stage.chatter.given
    for arguments in (
        {"text": spill.text(), "more": spill.value()},
        {"text": "x", "more": [spill.short() for _ in range(40)]},
        {"text": 7, "more": spill.value()},
        {"text": "x", spill.short(): spill.text()},
        {"text": spill.value()},
    ):
        before = len(given)
        outcome = await stage.call("note", arguments)
        if isinstance(outcome, Result) and outcome.error is None:
            assert given[before:] == [arguments], "the tool gets what was sent"
    for raw in (f'{{"text": "{spill.short()}", "text": 5}}', spill.text(), "[" * 3000 + spill.text()):
        await stage.call("note", raw.encode("utf-8", "surrogatepass"))
    await stage.call("nonesuch", {"token": spill.text(), spill.short(): spill.value()})
    await stage.call(spill.short(), {})
    await stage.call("note", {"text": spill.short()}, idempotency_key=spill.short(), native_call_id=spill.short())
    await stage.call("note", {"text": "x"}, idempotency_key="same", retry_of=spill.short())
    await stage.call("note", {"text": spill.short()}, idempotency_key="same")
    for name in ("flaky", "drop", "cut", "crash"):
        for secret in stage.of("sensitive")[:2]:
            await stage.call(name, {"secret": secret})
    batch = await stage.surface.call_many(
        [("note", {"text": spill.text()}), ("say_text", {}), ("fail_told", {}), ("nonesuch", {"a": spill.short()}),
         {"name": "note", "arguments": {"text": spill.short()}, "id": "b", "native_call_id": spill.short()}],
        sibling_failure_policy="cancel_siblings",
    )  # fmt: skip
    stage.ears.hear("a batch", repr(batch))
    async for update in stage.surface.stream_many([("talk", {}), ("say_value", {}), ("talk_later", {})], wait=5):
        stage.ears.hear("an update of a batch", repr(update))


async def _sensitive(stage: Stage) -> None:
    first, second, *rest = stage.of("sensitive")
    for note in ("", "fail", "break", "late talks", "post talks"):
        before = len(stage.chatter.given)
        await stage.call("pay", {"card": first, "pin": [second, *rest], "note": note})
        assert stage.chatter.given[before:] == [{"card": first, "pin": [second, *rest], "note": note}]
    for arguments in (
        {"card": [first], "pin": second},
        {"card": first, "pin": rest, "wrong": first},
        {"pin": [first, *rest], "card": 5, "note": first},
        {"card": json.dumps({"a": first}), "pin": json.dumps(rest)},
    ):
        await stage.call("pay", arguments)


async def _hooks(stage: Stage) -> None:
    for words in HOOKED:
        for name, arguments in (("note", {"text": words}), ("pay", {"card": "1234567890", "pin": [], "note": words})):
            if name == "pay" and not words.startswith("late"):
                continue
            outcome = await stage.call(name, {**arguments, "note": f"{words} fail"} if name == "pay" else arguments)
            if isinstance(outcome, Pending):
                await _rejected(stage, outcome.invocation_id)
    for event in EVENTS:
        for how in ("fails", "breaks", "misspeaks"):
            await stage.call("note", {"text": f"{event}: hook {how}"})
    for point in ("tool_input", "tool_output"):
        await stage.call("note", {"text": f"rail {point}", "more": stage.spill.text()})
    for how in ("answers", "stops", "breaks", "misspeaks"):
        await stage.call("command", {"text": f"command {how} {stage.spill.short()}"})
        await stage.call("address", {"text": f"address {how} {stage.spill.short()}"})


async def _rejected(stage: Stage, call: str) -> None:
    for waiting in await stage.inbox.pending():
        stage.ears.hear("the inbox", waiting)
    stage.ears.hear("a rejection", await stage.inbox.reject(call, reason=stage.spill.text()))


async def _people(stage: Stage) -> None:
    spill, given = stage.spill, stage.chatter.given
    for verdict in ("approve", "edit", "reject", "cancel", "request talks", "request denies"):
        arguments = {"text": f"{verdict} {spill.text()}", "more": spill.value()}
        outcome = await stage.call("careful", arguments)
        if isinstance(outcome, Result):
            continue
        call = outcome.invocation_id
        waiting = await stage.inbox.get(call)
        stage.ears.hear("a waiting call", waiting)
        before = len(given)
        match verdict:
            case "edit":
                edited = {"text": spill.text(), "more": [spill.value()]}
                said: Any = await stage.inbox.approve(
                    call, edited_input=msgspec.json.encode(edited), reason=spill.text()
                )
                assert given[before:] == [edited], "what the approver wrote runs"
            case "reject":
                said = await stage.inbox.reject(call, reason=spill.text())
            case "cancel":
                said = await stage.surface.cancel(call, spill.text())
            case _:
                said = await stage.inbox.approve(call, reason=spill.text())
                assert given[before:] == [arguments], "an approved call runs with what was sent"
        stage.ears.hear(verdict, said)
    await _asked(stage)
    card, *pin = stage.of("sensitive")
    pending = await stage.call("pay", {"card": card, "pin": pin, "note": "pre asks"})
    before = len(given)
    stage.ears.hear("sensitive", await stage.inbox.approve(pending.invocation_id, reason=f"{card} is fine"))
    assert given[before:] == [{"card": card, "pin": pin, "note": "pre asks"}]
    stage.ears.hear("disable", await stage.app.disable("shop.cut", by="ada", reason=spill.text()))
    stage.ears.hear("refused", await stage.call("cut", {"secret": spill.text()}))


async def _asked(stage: Stage) -> None:
    """A tool that asks, and gets its answer as it was given."""
    pending = await stage.call("ask")
    assert isinstance(pending, Pending), pending
    stage.ears.hear("a question", await stage.inbox.get(pending.invocation_id))
    stage.ears.hear("the question again", await stage.app.result(pending.invocation_id))
    answer = stage.spill.value()
    before = len(stage.chatter.given)
    stage.ears.hear("an answer", await stage.inbox.answer(pending.invocation_id, answer, reason=stage.spill.text()))
    ((state, got),) = stage.chatter.given[before:]
    assert got == answer
    assert found_in(state), "the tool gets back what it left"


async def _odd(stage: Stage) -> None:
    """What comes late, is canceled, or is followed."""
    for name in ("talk_too_late", "fail_too_late", "crash_too_late"):
        await stage.call(name, timeout_seconds=0.05)
    stage.chatter.release.set()
    run = await stage.surface.begin("talk_too_late")
    call = run.invocation_ids[0]
    await asyncio.sleep(0.02)
    stage.ears.hear("a cancellation", await stage.surface.cancel(call, stage.spill.text(), within=0.1))
    stage.ears.hear("a canceled call", repr(await run.wait()))
    stage.surface.guardrail_fired("judge", stage.spill.text())
    run = await stage.surface.begin("talk")
    async for said in stage.surface.follow(run.invocation_ids[0]):
        stage.ears.hear("progress", said)
    await run.wait()


async def look_through(stage: Stage) -> list[str]:
    """Rows, records and events of everything that happened; gives the calls."""
    await asyncio.sleep(0.2)  # for what comes late
    await stage.app.store.flush()
    rows = await stage.app.store.rows_after(0, 100_000)
    _check_everything_happened(rows)
    for row in rows:
        what = f"row {row.seq} ({row.kind} {row.tool} {row.outcome})"
        for part in (row.body, row.payload or b"", row.mark, row.tool.encode(), row.outcome.encode()):
            stage.ears.hear(what, part)
        for level in ("standard", "full"):
            for event in expand_row(row, source="test", level=level):
                stage.ears.hear(f"{level} event {event.event_type} of {what}", event.to_record())
    calls = list(dict.fromkeys(row.call for row in rows if row.call))
    for call in calls:
        stage.ears.hear(f"the record of {call}", make_invocation_record(Story(await stage.app.store.rows_of(call))))
        found = await stage.app.result(call)
        stage.ears.hear(f"the result of {call}", found)
        if isinstance(found, Result) and found.native_output_ref:
            stage.ears.hear(f"what is kept of {call}", await stage.app.payload(found.native_output_ref))
    return calls


def _check_everything_happened(rows: list[StoredEntry]) -> None:
    """Nothing was found because nothing was said? Every hook ran, every kind of news came, and much was taken out."""
    segments = [row.segment() for row in rows if row.call and row.kind != "news"]
    ran = {run.hook_id for segment in segments for run in segment.hooks}
    assert ran >= {*HOOKED, "program", "address", "guardrail:judge", *(f"{event} fails" for event in EVENTS)}
    assert {row.outcome for row in rows if row.kind == "news"} >= {"progress", "late_result", "cancel_requested"}
    assert any("attempts" in segment.notes for segment in segments)
    assert any("native_refs" in segment.notes for segment in segments)
    assert sum(segment.notes.get("redaction_state") == "partial" for segment in segments) > 40
    strategies = {record["strategy"] for segment in segments for record in segment.notes.get("persistence", ())}
    assert strategies >= {"preview_and_persist", "ref_only", "drop_with_reason", "never_persist"}


def files_of(root: Path) -> Iterator[tuple[str, bytes]]:
    """Every file of the workspace but those that hold keys, and every column of its tables."""
    for file in sorted(root.rglob("*")):
        if file.is_file():
            yield str(file.relative_to(root)), file.read_bytes()
            yield f"the name of {file.name}", str(file).encode()
    with sqlite3.connect(root / ".ferrule/ledger.db") as ledger:
        for (table,) in ledger.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in ledger.execute(f'SELECT * FROM "{table}"'):
                yield (
                    f"table {table}",
                    b"\n".join(part if isinstance(part, bytes) else str(part).encode() for part in row),
                )
    ledger.close()


def on_the_command_line(
    root: Path, env: dict[str, str], known: list[Canary], calls: list[str]
) -> Iterator[tuple[str, str]]:
    """What the command line shows of all that, and what it writes."""
    spill = Spill([canary for canary in known if canary.kind == "env"], SEED + 1)
    tried = [
        ("log", "--limit", "500"),
        ("log", "--json"),
        ("pending",),
        ("audit", "export", "export.jsonl"),
        ("audit", "backup", "backup.db"),
        ("call", "nonesuch", json.dumps({"a": spill.text()})),
        ("call", "crash", "not json " + spill.text()),
    ]
    calls = random.Random(SEED).sample(calls, 5)
    tried += [("explain", call) for call in calls[:2]]
    tried += [("explain", "--json", calls[2]), ("result", calls[3]), ("result", calls[4], "--save", "saved")]
    for words in tried:
        ran = ferrule(*words, folder=root, environment=env)
        yield " ".join(words)[:60], ran.out + ran.err
        assert "Traceback" not in ran.err, ran.err


@pytest.mark.parametrize("seed", SEEDS)
def test_no_secret_appears_anywhere(tmp_path: Path, capfd: pytest.CaptureFixture[str], seed: int) -> None:
    """AT-84, AT-124, AT-233, AT-245, AT-253, AT-271, promise 8"""
    known = canaries(seed)
    assert len(known) == 200
    root = tmp_path / "shop"
    told: list[bytes] = []
    with running_receiver(204) as people, running_provider(_echoing(known)) as server, listening() as lines:
        env = write_workspace(root, known, webhook=people.url, hook=server.url)

        async def story() -> tuple[Ears, list[str]]:
            async with staged(root, known, env, seed) as stage:
                await play(stage)
                return stage.ears, await look_through(stage)

        ears, calls = asyncio.run(asyncio.wait_for(story(), 120))
        told = [got.body for got in people.got] + [str(got.headers).encode() for got in people.got]
    assert any(b'"input"' in body for body in told)
    for body in told:
        ears.hear("a notification", body)
    for what, text in on_the_command_line(root, env, known, calls):
        ears.hear(what, text.encode())
    for name, data in files_of(root):
        ears.hear(name, data)
    ears.hear("the log", lines.text.getvalue().encode("utf-8", "surrogatepass"))
    out, err = capfd.readouterr()
    ears.hear("standard output", out.encode())
    ears.hear("standard error", err.encode())
    leaks = ears.leaks()
    assert not leaks, f"{len(leaks)} leaks:\n" + "\n\n".join(leaks[:20])


def _echoing(known: list[Canary]) -> Any:
    """What the hook at an address answers."""
    secret = known[1].value

    def answer(body: bytes) -> bytes:
        if b"address breaks" in body:
            return secret.encode()
        if b"address misspeaks" in body:
            return json.dumps({"stop": [secret], secret: 1}).encode()
        if b"address stops" in body:
            return json.dumps({"stop": secret, "stop_code": secret}).encode()
        return json.dumps({"messages": [secret], "additional_context": [{"type": "text", "text": secret}]}).encode()

    return answer


def test_every_spelling_of_a_canary_is_one_that_the_search_sees() -> None:
    """A search that finds nothing proves nothing."""
    for canary in canaries(SEED):
        for name, spelled in SPELLINGS.items():
            assert found_in(f"before {spelled(canary.value)} after"), (name, canary)
            assert found_in(json.dumps({"a": spelled(canary.value)})), (name, canary)
    assert found_in("nothing to see here, but a digest: " + "0123456789abcdef" * 4) is None
