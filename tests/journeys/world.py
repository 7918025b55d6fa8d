"""A small company to play random stories in: tools, policies, people, one ledger, a clock that a test moves.

Everything is real but the clock and what stands behind the tools. `promises.py` says what must hold whatever happens here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ferrule.app.app import App
from ferrule.app.assembly import Overrides, assemble
from ferrule.contracts.executor import Context, Output, Run, Support
from ferrule.contracts.policy import Classifier, PolicyEngine
from ferrule.contracts.surface import CatalogView
from ferrule.model.approval import ADMIN, APPROVE, CALL, Identity
from ferrule.model.persistence import RedactionSettings
from ferrule.model.result import Pending, Result
from ferrule.model.tool import SafetyFacts, Tool, raw
from ferrule.runtime.approval.key import ApprovalKey
from ferrule.runtime.surface.catalogs import EmptyCatalog, JoinedCatalog
from ferrule.settings import LedgerSettings, Settings
from ferrule.testing.app import PolicyText, never_ended
from ferrule.testing.fakes import FakeClock
from ferrule.workspace.workspace import Workspace

SECRET = "4242-SECRET-4242"
AGENT_CHANNEL = "token:agent"
LIMIT = 2


class Wish(NamedTuple):
    """What a policy wants for a tool: the word, and how many people."""

    behavior: str
    people: int = 1


def _tool(name: str, **said: Any) -> Tool:
    schema = said.pop("schema", {"type": "integer"})
    card = {"type": "string", "sensitive": True}
    return Tool(
        tool_id=name,
        namespace="company",
        name=name,
        description=said.pop("description", f"Does {name}."),
        lifecycle="available",
        tool_kind="function",
        dialect="agent_tool",
        input_schema=raw(
            {
                "type": "object",
                "properties": {"n": schema, "card": card},
                "required": ["n"],
                "additionalProperties": False,
            }
        ),
        facts=SafetyFacts(is_read_only=said.pop("is_read_only", False), is_concurrency_safe=True),
        **said,
    )


_LOOK, _ACT, _WIRE = _tool("look", is_read_only=True), _tool("act"), _tool("wire")
_FEW = _tool("few", max_calls_per_run=LIMIT)
_PAY = _tool("pay")
CATALOGS: dict[str, tuple[Tool, ...]] = {
    "first": (_LOOK, _ACT, _WIRE, _FEW, _PAY),
    "reworded": (_LOOK, _ACT, _WIRE, _FEW, _tool("pay", description="Pays at once.")),
    "narrowed": (_LOOK, _ACT, _WIRE, _FEW, _tool("pay", schema={"type": "integer", "maximum": 1})),
    "without pay": (_LOOK, _ACT, _WIRE, _FEW),
}
TOOLS = ("look", "act", "pay", "wire", "few")
_ALLOW = '[[rules]]\nid = "all"\ndecision = "allow"\ntool = "*"\n'
_WIRE_RULE = (
    '[[rules]]\nid = "wire"\ndecision = "ask"\ntool = "wire"\npeople = 2\nnot_requester = true\nexpires = "1h"\n'
)
_PAY_RULE = '[[rules]]\nid = "pay"\ndecision = "ask"\ntool = "pay"\nexpires = "1h"\n'
_FREE = {"look": Wish("allow"), "act": Wish("allow"), "few": Wish("allow")}
POLICIES: dict[str, tuple[str, dict[str, Wish]]] = {
    "usual": (_ALLOW + _WIRE_RULE + _PAY_RULE, {**_FREE, "pay": Wish("ask"), "wire": Wish("ask", 2)}),
    "lax": (_ALLOW + _WIRE_RULE, {**_FREE, "pay": Wish("allow"), "wire": Wish("ask", 2)}),
    "no pay": (
        _ALLOW + _WIRE_RULE + '[[rules]]\nid = "no"\ndecision = "deny"\ntool = "pay"\n',
        {**_FREE, "pay": Wish("deny"), "wire": Wish("ask", 2)},
    ),
    "strict": (
        '[[rules]]\nid = "every"\ndecision = "ask"\ntool = "*"\npeople = 2\nexpires = "2h"\n',
        {name: Wish("ask", 2) for name in TOOLS},
    ),
    "few asks": (
        _ALLOW + _WIRE_RULE + _PAY_RULE + '[[rules]]\nid = "few"\ndecision = "ask"\ntool = "few"\nexpires = "1h"\n',
        {**_FREE, "few": Wish("ask"), "pay": Wish("ask"), "wire": Wish("ask", 2)},
    ),
    "broken": ("this is no policy", {name: Wish("deny") for name in TOOLS}),
}


def _person(name: str, *scopes: str, channel: str | None = None) -> Identity:
    return Identity(name, channel or f"token:{name}", frozenset(scopes))


PEOPLE: dict[str, Identity] = {
    "ada": _person("ada", APPROVE, ADMIN),
    "bob": _person("bob", APPROVE),
    "Ada again": _person("Ada", APPROVE, channel="token:ada-phone"),
    "alice": _person("alice", APPROVE),
    "no scope": _person("carl", CALL),
    "own channel": _person("bob", APPROVE, channel=AGENT_CHANNEL),
}
"""Ada has two tokens; alice is whom the calls are made for; the last two may never approve."""
NEVER = frozenset({"token:carl", AGENT_CHANNEL})


class Effect(NamedTuple):
    """One run of a tool, and the world it ran in."""

    tool_id: str
    arguments: dict[str, Any]
    invocation_id: str
    wish: Wish
    digest: str
    is_off: bool
    now: int


class Registrar:
    """The executor: notes every effect, and can be told to keep tools busy until they are released."""

    support = Support(cancel=True)

    def __init__(self, world: World) -> None:
        self._world = world

    def can_run(self, tool: Tool) -> bool:
        return tool.dialect == "agent_tool"

    def prepare(self, tool: Tool) -> Run:
        def run(arguments: dict[str, Any], context: Context) -> Any:
            return self._world.happen(tool.tool_id, arguments, context.invocation_id)

        return run

    async def aclose(self) -> None:
        """Nothing to let go of."""


class WorldPolicy(PolicyText):
    """The policy that the world has at the moment."""

    def __init__(self, world: World) -> None:
        super().__init__("")
        self._world = world

    def load(self, classifiers: Mapping[str, Classifier]) -> PolicyEngine:
        self._text = POLICIES[self._world.policy][0]
        return super().load(classifiers)


class World:
    """One ledger and the process that has it open at the moment. `make_store` gives each new process its store."""

    def __init__(self, make_store: Callable[[World], Any], behind: bool = True) -> None:
        self.loop = asyncio.new_event_loop()
        self.clock = FakeClock()
        self.key = ApprovalKey(b"k" * 32)
        self.effects: list[Effect] = []
        self.told: dict[str, Result | Pending] = {}
        """The latest durable answer anybody got, by invocation."""
        self.keyed: dict[tuple[str, str], set[str]] = {}
        """Which invocations answered for a key."""
        self.off: set[str] = set()
        self.policy = "usual"
        self.catalog = "first"
        self.held: list[asyncio.Task[Any]] = []
        self.waiters: list[asyncio.Task[Any]] = []
        self.gate = asyncio.Event()
        """Open when long calls may end."""
        ledger = LedgerSettings(read_only="behind" if behind else "durable")
        settings = Settings(namespace="company", ledger=ledger, redaction=RedactionSettings(well_known=False))
        self._workspace = Workspace(Path("/nowhere"), settings, has_settings_file=False)
        self._make_store = make_store
        self.store: Any = None
        self.app: App
        self.run(self._open())

    def run(self, step: Awaitable[Any]) -> Any:
        """One step of the story, to its end; then whoever is ready goes on a little."""

        async def stepped() -> Any:
            given = await asyncio.wait_for(step, 5)
            for _ in range(20):
                await asyncio.sleep(0)
            await self._quiet()
            return given

        return self.loop.run_until_complete(stepped())

    async def _quiet(self) -> None:
        """Until those who wait have gone on with what was answered, so that the next step finds nothing half done."""
        awaited = {task.get_name() for task in self.waiters if not task.done()}
        for _ in range(1000):
            if not awaited or not awaited & {call.call for call in await self.store.open_calls("approved", "running")}:
                return
            await asyncio.sleep(0.001)

    def happen(self, tool_id: str, arguments: dict[str, Any], invocation_id: str) -> Any:
        """A tool does something."""
        digest = next((listed.digest for listed in view(self.catalog).versions(tool_id)), "")
        wish = POLICIES[self.policy][1][tool_id]
        now = max(self.clock.now(), self.store.high_water())
        self.effects.append(Effect(tool_id, dict(arguments), invocation_id, wish, digest, tool_id in self.off, now))
        receipt = Output({"receipt": len(self.effects)})
        return self._later(receipt) if asyncio.current_task() in self.held else receipt

    async def _later(self, receipt: Output) -> Output:
        await self.gate.wait()
        return receipt

    async def _open(self) -> None:
        self.store = self._make_store(self)
        overrides = Overrides(
            executors=(Registrar(self),), policy=WorldPolicy(self), key=self.key, why_ended=never_ended, tends=False
        )
        parts = assemble(self._workspace, view(self.catalog), self.store, self.clock, {}, overrides)
        self.app = App(parts)
        await self.app.__aenter__()
        await self.app.calls.recover()
        self.surface = self.app.surface(principal="alice", channel=AGENT_CHANNEL)
        self.shared = self.app.surface(principal="alice", channel=AGENT_CHANNEL, run_id="shared-run")

    async def reopen(self, *, crashed: bool) -> None:
        """The process ends, in order or not, and another one begins."""
        if crashed:
            self.store.crash()
        await self._let_go()
        if not crashed:
            await self.app.__aexit__(None, None, None)
        await self._open()

    async def _let_go(self) -> None:
        tasks, self.held, self.waiters = [*self.held, *self.waiters], [], []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def close(self) -> None:
        """The end of the story."""
        self.run(self._end())
        self.loop.close()

    async def _end(self) -> None:
        await self._let_go()
        await self.app.__aexit__(None, None, None)


_VIEWS: dict[str, CatalogView] = {}


def view(name: str) -> CatalogView:
    """A catalog as surfaces see it."""
    if name not in _VIEWS:
        _VIEWS[name] = JoinedCatalog(EmptyCatalog(), CATALOGS[name])
    return _VIEWS[name]
