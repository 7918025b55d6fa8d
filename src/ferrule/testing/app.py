"""An app in memory: everything real except the disk, the clock if you like, and what stands behind the tools.

`ScriptedApprover` is a person who answers its inbox by a script. The other fakes are in `testing/fakes`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from ferrule.app.app import App, Parts
from ferrule.app.follower import Follower
from ferrule.app.network import Network
from ferrule.app.resources import Here, Outside
from ferrule.app.surroundings import missing_secrets, surroundings_of
from ferrule.contracts.executor import Executor
from ferrule.contracts.hook import Hook
from ferrule.contracts.notifier import Notifier
from ferrule.contracts.payloads import PayloadStore
from ferrule.contracts.policy import Classifier, PolicyEngine
from ferrule.contracts.sink import Sink
from ferrule.contracts.surface import CatalogView
from ferrule.infra.clock import Clock, id_maker
from ferrule.ledger.payloads.memory import MemoryPayloads
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.model.approval import ADMIN, APPROVE, Identity
from ferrule.model.persistence import RedactionSettings, ResultSettings
from ferrule.model.result import Pending, Result
from ferrule.model.retry import RetrySettings
from ferrule.model.scheduling import DEFAULT_POLICY, SchedulerPolicy
from ferrule.model.surface import SurfaceSettings
from ferrule.model.tool import Tool
from ferrule.runtime.approval.check import unsatisfied
from ferrule.runtime.approval.inbox import Accept
from ferrule.runtime.approval.key import ApprovalKey
from ferrule.runtime.approval.notices import Notices
from ferrule.runtime.approval.waiting import Waiting
from ferrule.runtime.executors.caching import Cache
from ferrule.runtime.executors.function import delegation_of
from ferrule.runtime.executors.transports import TransportExecutor
from ferrule.runtime.functions.function_tools import joined
from ferrule.runtime.pipeline.breaker import Breakers
from ferrule.runtime.pipeline.live import InFlight
from ferrule.runtime.pipeline.retries import RetryBudgets
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.policy.classifiers import BUILTIN
from ferrule.runtime.policy.engine import engine_of
from ferrule.runtime.policy.facts import call_facts
from ferrule.runtime.policy.load import joined_groups, ordered, refuse_errors
from ferrule.runtime.policy.read import read_text, read_value
from ferrule.runtime.policy.records import PolicySet
from ferrule.runtime.redaction.redactor import KnownSecrets
from ferrule.runtime.scheduler.scheduler import Scheduler
from ferrule.runtime.surface.catalogs import EmptyCatalog, SealedCatalog
from ferrule.runtime.surface.search_tool import SearchExecutor
from ferrule.settings import SecretSettings, Settings
from ferrule.workspace.releases import catalog_in_memory
from ferrule.workspace.workspace import Workspace

_NO_FILES = Settings(secrets=SecretSettings(env_file=""))
"""An app without a workspace reads no file of secrets."""


@asynccontextmanager
async def memory_app(
    *,
    tools: Iterable[Tool | Callable[..., Any] | Any] = (),
    definitions: Mapping[str, str] | None = None,
    catalog: CatalogView | None = None,
    policy: str = "",
    executors: Sequence[Executor] = (),
    hooks: Sequence[Hook] = (),
    classifiers: Iterable[Classifier] = (),
    sinks: Sequence[Sink] = (),
    clock: Clock | None = None,
    store: MemoryStore | None = None,
    key: ApprovalKey | None = None,
    records_behind: bool = True,
    tends: bool = False,
    scheduler: SchedulerPolicy = DEFAULT_POLICY,
    results: ResultSettings | None = None,
    redaction: RedactionSettings | None = None,
    retries: RetrySettings | None = None,
    environment: Mapping[str, str] | None = None,
    payloads: PayloadStore | None = None,
    settings: Settings | None = None,
    notifiers: Sequence[Notifier] = (),
) -> AsyncIterator[App]:
    """An app without a workspace.

    `tools`: Python functions or canonical tools. `definitions`: definition files by name, compiled and refused like any.
    `policy`: the text of a policy.toml. `store`: one that another app has left, to see what a restart brings; pass the same
    `key` then. A Python function is run by itself; other tools by `executors`, for example a `ScriptedExecutor`, or by the
    transport they name. `settings`: what a ferrule.toml would say about the network, secrets and the systems behind tools.
    """
    time = clock or Clock()
    used = store or MemoryStore(clock=time.now)
    parts = _parts(
        used, time, key or ApprovalKey.in_memory(), catalog or _compiled(definitions or {}), policy,
        tools=tools, executors=executors, hooks=hooks, classifiers=classifiers, records_behind=records_behind, tends=tends,
        scheduler=scheduler, results=results or ResultSettings(), redaction=redaction,
        retries=retries or RetrySettings(), environment=environment,
        payloads=payloads, settings=settings or _NO_FILES, notifiers=notifiers,
    )  # fmt: skip
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(App(parts))
        for sink in sinks:
            follower = Follower(used, sink, source=parts.name)
            follower.start()
            stack.push_async_callback(follower.aclose)
        stack.push_async_callback(used.flush)
        yield app


def _parts(
    store: MemoryStore,
    clock: Clock,
    key: ApprovalKey,
    catalog: CatalogView,
    policy: str,
    *,
    tools: Iterable[Any],
    executors: Sequence[Executor],
    hooks: Sequence[Hook],
    classifiers: Iterable[Classifier],
    records_behind: bool,
    tends: bool,
    scheduler: SchedulerPolicy,
    results: ResultSettings,
    redaction: RedactionSettings | None,
    retries: RetrySettings,
    environment: Mapping[str, str] | None,
    payloads: PayloadStore | None,
    settings: Settings,
    notifiers: Sequence[Notifier],
) -> Parts:
    new_id = id_maker(clock)
    known = {**BUILTIN, **{classifier.name: classifier for classifier in classifiers}}
    env = os.environ if environment is None else environment
    redactor = KnownSecrets(redaction or RedactionSettings(well_known=False), env)
    view, functions = joined(
        catalog,
        tools,
        environment=env,
        on_secret=redactor.add,
        threads=settings.functions.threads,
        processes=settings.functions.processes,
        isolate=settings.functions.isolate,
    )
    elsewhere = Path(tempfile.gettempdir())
    client = Network(settings, env, elsewhere, redactor.add).client()
    around = surroundings_of(
        client, settings, env, elsewhere, redactor.add, tick=clock.seconds, now=clock.now,
        key=key, redactor=redactor,
    )  # fmt: skip
    kept = Path(tempfile.gettempdir()) / f"ferrule-{os.urandom(8).hex()}"
    outside = Outside(lambda: client, lambda client: around, settings, clock.seconds, kept)
    functions.delegation = lambda: delegation_of(outside.surroundings)
    runs = (
        SearchExecutor(new_id, SurfaceSettings()),
        *executors,
        functions,
        TransportExecutor(lambda: outside.surroundings, settings.mcp.programs.values()),
    )
    accepted: list[dict[str, Any]] = []
    notices = Notices(notifiers, "memory") if notifiers else None
    let_go = () if notices is None else (notices.aclose,)
    services = Services(
        store=store,
        now=clock.now,
        tick=clock.tick,
        sealing=key,
        unsatisfied=unsatisfied,
        call_facts=call_facts,
        scheduler=Scheduler(scheduler),
        live=InFlight(),
        budgets=RetryBudgets(retries),
        breakers=Breakers(retries, clock.seconds),
        classifiers=known,
        hooks=tuple(hooks),
        redactor=redactor,
        payloads=payloads or (MemoryPayloads(clock.now) if results.store == "files" else None),
        results=results,
        retries=retries,
        records_behind=records_behind,
        parked=notices.tell if notices is not None else lambda request: None,
    )
    return Parts(
        store=store,
        clock=clock,
        new_id=new_id,
        catalog=view,
        load_policy=lambda: policy_engine(policy, accepted, known),
        policy_state=lambda: len(accepted),
        executors=runs,
        key=key,
        services=services,
        readiness=Here(
            functions.can_run, missing=lambda tool: missing_secrets(tool, around.vault, settings, executors)
        ),
        name="memory",
        notices=notices,
        cache=Cache(settings.cache, clock.seconds),
        accept_rule=lambda identity: _accepting(accepted, store, identity),
        outside=outside,
        tends=tends,
        closing=(*let_go, lambda: shutil.rmtree(kept, ignore_errors=True)),
    )


def policy_engine(
    text: str, accepted: Sequence[Mapping[str, Any]] = (), classifiers: Mapping[str, Classifier] | None = None
) -> PolicyEngine:
    """The engine of a policy.toml with this text, and of rules that were accepted since. Raises PolicyError."""
    reads = [read_text(text, "policy_settings", "policy.toml")]
    if accepted:
        reads.append(read_value({"rules": [dict(rule) for rule in accepted]}, "local_settings", "accepted", file=""))
    refuse_errors(reads)
    files = ordered(read.file for read in reads)
    return engine_of(PolicySet(files=files, groups=joined_groups(files), root="/", home=""), classifiers)


def _accepting(accepted: list[dict[str, Any]], store: MemoryStore, identity: Identity) -> Accept:
    async def accept(update: dict[str, object]) -> None:
        rule = update.get("rule")
        accepted.append({**(rule if isinstance(rule, dict) else update), "id": f"accepted-{len(accepted)}"})
        store.bump()

    return accept


def _compiled(definitions: Mapping[str, str]) -> CatalogView:
    if not definitions:
        return EmptyCatalog()
    with tempfile.TemporaryDirectory(prefix="ferrule-") as folder:
        root = Path(folder) / "workspace"
        for name, text in definitions.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        if not (root / "ferrule.toml").exists():
            (root / "ferrule.toml").write_text('namespace = "test"\n', encoding="utf-8")
        return SealedCatalog(catalog_in_memory(Workspace.open(root)))


Verdict = bool | Mapping[str, Any] | str
"""True: yes. False: no. A mapping: yes, with this input instead. A text: no, for this reason."""


class ScriptedApprover:
    """Answers what waits in an app's inbox. `script`: one verdict for all, or a function of the waiting item."""

    def __init__(
        self,
        app: App,
        script: Verdict | Callable[[Waiting], Verdict | None] = True,
        *,
        name: str = "approver",
        groups: tuple[str, ...] = (),
        scopes: tuple[str, ...] = (APPROVE, ADMIN),
    ) -> None:
        identity = Identity(name, f"test:{name}", frozenset(scopes), frozenset(groups))
        self.inbox = app.inbox(identity)
        self._script = script

    async def work(self) -> list[Result | Pending | None]:
        """Answer everything that waits now; gives what became of each. A verdict of None leaves an item waiting."""
        outcomes: list[Result | Pending | None] = []
        for item in await self.inbox.pending():
            verdict = self._script(item) if callable(self._script) else self._script
            if verdict is not None:
                outcomes.append(await self._answer(item.request.invocation_id, verdict))
        return outcomes

    async def _answer(self, call: str, verdict: Verdict) -> Result | Pending | None:
        if verdict is True:
            return (await self.inbox.approve(call)).result
        if isinstance(verdict, Mapping):
            return (await self.inbox.approve(call, edited_input=msgspec.json.encode(verdict))).result
        return await self.inbox.reject(call, reason=verdict if isinstance(verdict, str) else "the script says no")
