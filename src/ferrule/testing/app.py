"""An app in memory: everything real except the disk, the clock if you like, and what stands behind the tools.

`ScriptedApprover` is a person who answers its inbox by a script. The other fakes are in `testing/fakes`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from ferrule.app.app import App
from ferrule.app.assembly import Overrides, assemble
from ferrule.app.opening import make_followers, run_app
from ferrule.contracts.executor import Executor
from ferrule.contracts.hook import Hook
from ferrule.contracts.notifier import Notifier
from ferrule.contracts.payloads import PayloadStore
from ferrule.contracts.policy import Classifier, PolicyEngine
from ferrule.contracts.sink import Sink
from ferrule.contracts.store import Store
from ferrule.contracts.surface import CatalogView
from ferrule.infra.clock import Clock
from ferrule.ledger.payloads.memory import MemoryPayloads
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.model.approval import ADMIN, APPROVE, Identity
from ferrule.model.persistence import RedactionSettings, ResultSettings
from ferrule.model.result import Pending, Result
from ferrule.model.retry import RetrySettings
from ferrule.model.scheduling import SchedulerPolicy
from ferrule.model.tool import Tool
from ferrule.runtime.approval.inbox import Accept
from ferrule.runtime.approval.inbox_item import InboxItem
from ferrule.runtime.approval.key import ApprovalKey
from ferrule.runtime.policy.engine import make_engine
from ferrule.runtime.policy.load import join_groups, order_files, refuse_errors
from ferrule.runtime.policy.read import read_text, read_value
from ferrule.runtime.policy.records import PolicySet
from ferrule.runtime.surface.catalogs import EmptyCatalog, SealedCatalog
from ferrule.settings import Settings
from ferrule.workspace.releases import build_in_memory
from ferrule.workspace.workspace import Workspace

_QUIET = Settings(redaction=RedactionSettings(well_known=False))
"""The settings of an app that has none of its own: a test's made-up tokens stay as they are."""


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
    scheduler: SchedulerPolicy | None = None,
    results: ResultSettings | None = None,
    redaction: RedactionSettings | None = None,
    retries: RetrySettings | None = None,
    environment: Mapping[str, str] | None = None,
    payloads: PayloadStore | None = None,
    settings: Settings | None = None,
    notifiers: Sequence[Notifier] = (),
) -> AsyncIterator[App]:
    """Opens an app without a workspace.

    `tools`: Python functions or canonical tools. `definitions`: definition files by name, compiled and refused like any.
    `policy`: the text of a policy.toml. `store`: one that another app has left, to see what a restart brings; pass the same
    `key` then. A Python function is run by itself; other tools by `executors`, for example a `ScriptedExecutor`, or by the
    transport they name. `settings`: what a ferrule.toml would say about the network, secrets and the systems behind tools.
    """
    time = clock or Clock()
    chosen = _settings(
        settings,
        records_behind=records_behind,
        scheduler=scheduler,
        results=results,
        redaction=redaction,
        retries=retries,
    )
    with tempfile.TemporaryDirectory(prefix="ferrule-", ignore_cleanup_errors=True) as folder:
        workspace = Workspace(Path(folder), chosen, has_settings_file=False)
        parts = assemble(
            workspace,
            catalog or _compile_definitions(definitions or {}),
            store or MemoryStore(clock=time.now),
            time,
            os.environ if environment is None else environment,
            Overrides(
                tools=tuple(tools),
                has_module_namespaces=True,
                executors=tuple(executors),
                hooks=tuple(hooks),
                classifiers=tuple(classifiers),
                notifiers=tuple(notifiers),
                policy=PolicyText(policy),
                key=key or ApprovalKey.generate(),
                why_ended=never_ended,
                payloads=payloads or (MemoryPayloads(time.now) if chosen.results.store == "files" else None),
                tends=tends,
            ),
        )
        async with run_app(parts, make_followers(parts, workspace, sinks)) as app:
            yield app


def never_ended(channel: str, now: int) -> str | None:
    """Returns None for every key: apps in memory have none that could end."""
    return None


class PolicyText:
    """The policy of an app in memory: the text of a policy.toml, and the rules that were accepted since."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._accepted: list[dict[str, Any]] = []

    def load(self, classifiers: Mapping[str, Classifier]) -> PolicyEngine:
        """Reads the text. Raises PolicyError."""
        reads = [read_text(self._text, "policy_settings", "policy.toml")]
        if self._accepted:
            reads.append(read_value({"rules": self._accepted}, "local_settings", "accepted", file=""))
        refuse_errors(reads)
        files = order_files(read.file for read in reads)
        return make_engine(PolicySet(files=files, groups=join_groups(files), root="/", home=""), classifiers)

    def state(self) -> object:
        """Returns how many rules were accepted."""
        return len(self._accepted)

    def acceptor(self, identity: Identity, store: Store, clock: Clock) -> Accept:
        """Keeps accepted rules as long as the app lives."""

        async def accept(update: dict[str, object]) -> None:
            rule = update.get("rule")
            values = rule if isinstance(rule, dict) else update
            self._accepted.append({**values, "id": f"accepted-{len(self._accepted)}"})
            store.bump()

        return accept


def _settings(
    settings: Settings | None,
    *,
    records_behind: bool,
    scheduler: SchedulerPolicy | None,
    results: ResultSettings | None,
    redaction: RedactionSettings | None,
    retries: RetrySettings | None,
) -> Settings:
    """Returns the settings with the single options applied."""
    named = {"scheduler": scheduler, "results": results, "redaction": redaction, "retries": retries}
    chosen = replace(settings or _QUIET, **{name: value for name, value in named.items() if value is not None})
    if chosen.namespace is None:
        chosen = replace(chosen, namespace="memory")
    return chosen if records_behind else replace(chosen, ledger=replace(chosen.ledger, read_only="durable"))


def _compile_definitions(definitions: Mapping[str, str]) -> CatalogView:
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
        return SealedCatalog(build_in_memory(Workspace.open(root)))


Verdict = bool | Mapping[str, Any] | str
"""True: yes. False: no. A mapping: yes, with this input instead. A text: no, for this reason."""


class ScriptedApprover:
    """Answers what waits in an app's inbox. `script`: one verdict for all, or a function of the waiting item."""

    def __init__(
        self,
        app: App,
        script: Verdict | Callable[[InboxItem], Verdict | None] = True,
        *,
        name: str = "approver",
        groups: tuple[str, ...] = (),
        scopes: tuple[str, ...] = (APPROVE, ADMIN),
    ) -> None:
        identity = Identity(name, f"test:{name}", frozenset(scopes), frozenset(groups))
        self.inbox = app.inbox(identity)
        self._script = script

    async def work(self) -> list[Result | Pending | None]:
        """Answers everything that waits now, and returns the outcome of each. A verdict of None leaves an item waiting."""
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
