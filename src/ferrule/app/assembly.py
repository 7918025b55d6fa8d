"""Putting an App together from a workspace: which catalog, which policy, which ledger, which executors.

async with open_app("./workspace") as app: ...
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.access.keys import Access
from ferrule.app.app import App, Parts
from ferrule.app.follower import Follower, make_sink_followers
from ferrule.app.policy_source import PolicySource, WorkspacePolicy, stat_stamp
from ferrule.app.protected_files import list_fixed_files, list_protected_files
from ferrule.app.resources import ProcessReadiness, ProcessResources
from ferrule.contracts.executor import Executor
from ferrule.contracts.hook import Hook
from ferrule.contracts.notifier import Notifier
from ferrule.contracts.payloads import PayloadStore
from ferrule.contracts.policy import Classifier
from ferrule.contracts.registry import Registry, late
from ferrule.contracts.sink import Sink
from ferrule.contracts.store import Store, Witness
from ferrule.contracts.surface import CatalogView
from ferrule.definitions.compiler.seal import load_key, make_key, public_half, trust
from ferrule.errors import BindingError, LedgerError, SealError, UnknownBinding, WorkspaceError
from ferrule.infra.clock import Clock, id_maker
from ferrule.infra.lockfile.oxp_tools import list_imported_oxp_tools
from ferrule.infra.lockfile.tools import list_imported_tools
from ferrule.ledger.payloads.files import FilePayloads
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.ledger.stores.witness import FileWitness
from ferrule.model.persistence import RedactionSettings
from ferrule.model.timestamps import MICROSECONDS
from ferrule.model.tool import Tool
from ferrule.runtime.approval.check import unsatisfied
from ferrule.runtime.approval.inbox import WhyEnded
from ferrule.runtime.approval.key import KEY_FILE, ApprovalKey
from ferrule.runtime.approval.notices import Notices, Recipient
from ferrule.runtime.builtins.executor import BuiltinExecutor
from ferrule.runtime.executors.builtin import EXECUTORS, FUNCTION
from ferrule.runtime.executors.builtin import GROUP as EXECUTOR_GROUP
from ferrule.runtime.executors.caching import ResultCache
from ferrule.runtime.executors.function import FunctionExecutor, credential_sources_of
from ferrule.runtime.executors.shell import ShellExecutor
from ferrule.runtime.executors.transports import TransportExecutor
from ferrule.runtime.functions import bind_functions, load_modules
from ferrule.runtime.functions.function_tools import join_functions, rejoin_functions
from ferrule.runtime.hooks.builtin import build_hooks
from ferrule.runtime.hooks.guardrail_agents import list_agent_files
from ferrule.runtime.hooks.guardrail_records import FiredRuns
from ferrule.runtime.hooks.guardrail_set import build_guardrails, order_hooks
from ferrule.runtime.notifiers.builtin import GROUP as NOTIFIER_GROUP
from ferrule.runtime.notifiers.builtin import NOTIFIERS
from ferrule.runtime.pipeline.breaker import Breakers
from ferrule.runtime.pipeline.live import InFlight
from ferrule.runtime.pipeline.redaction import guard_logs
from ferrule.runtime.pipeline.resumption import find_last_input
from ferrule.runtime.pipeline.retries import RetryBudgets
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.policy.classifiers import BUILTIN
from ferrule.runtime.policy.facts import compute_call_facts
from ferrule.runtime.redaction.redactor import KnownSecrets
from ferrule.runtime.scheduler.scheduler import Scheduler
from ferrule.runtime.surface.catalogs import EmptyCatalog, SealedCatalog
from ferrule.runtime.surface.search_tool import SearchExecutor
from ferrule.settings import Settings
from ferrule.workspace.staleness import CATALOG_FILE, load_catalog
from ferrule.workspace.staleness import is_stale as is_stale
from ferrule.workspace.workspace import Workspace

if TYPE_CHECKING:
    from ferrule.app.network import Network
    from ferrule.infra.network.client import Client

LEDGER_KEY = ".ferrule/keys/ledger.key"
LEDGER_PUBLIC = ".ferrule/keys/ledger.pub"

if TYPE_CHECKING:
    from ferrule.app.connections import Connections

_log = logging.getLogger("ferrule.approval")
_build_release: Callable[[Workspace], object] = late("ferrule.workspace.releases:build")
_network: Callable[..., Network] = late("ferrule.app.network:Network")
_webhook_witness: Callable[..., Witness] = late("ferrule.ledger.stores.web_witness:WebhookWitness")
_connections_of: Callable[..., Connections] = late("ferrule.app.connections:make_connections")  # brings the network
_executors: Registry[Callable[[], Executor]] = Registry("executor", EXECUTORS, EXECUTOR_GROUP)
_notifiers: Registry[Callable[..., Notifier]] = Registry("notifier", NOTIFIERS, NOTIFIER_GROUP)

_PROXY_VARIABLES = ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY")

Build = Literal["missing", "always", "never"]
"""When the catalog is built from the definitions: if there is none, every time, or not at all."""


class Overrides(msgspec.Struct, frozen=True, kw_only=True):
    """Parts that a program or a test brings to an app, before or instead of those that the workspace names."""

    tools: tuple[Any, ...] = ()
    """Python functions, modules of them, and canonical tools, besides those of the settings."""
    has_module_namespaces: bool = False
    """Functions that state no namespace are named after their modules, not after the workspace."""
    executors: tuple[Executor, ...] = ()
    """Asked before those of Ferrule."""
    hooks: tuple[Hook, ...] = ()
    """Run after those of the settings."""
    classifiers: tuple[Classifier, ...] = ()
    notifiers: tuple[Notifier, ...] = ()
    """Told of waiting calls besides those of the settings."""
    policy: PolicySource | None = None
    """Instead of the policy's files."""
    key: ApprovalKey | None = None
    """Instead of the workspace's."""
    why_ended: WhyEnded | None = None
    """Instead of asking the workspace's keys whether a call's key has ended."""
    payloads: PayloadStore | None = None
    """Instead of the place that the settings name."""
    tends: bool = True
    """False leaves lost, expired and answered calls to other processes."""


NO_OVERRIDES = Overrides()


@asynccontextmanager
async def open_app(
    path: str | Path = ".",
    *,
    tools: Iterable[Any] = (),
    build: Build = "missing",
    executors: Sequence[Executor] = (),
    hooks: Sequence[Hook] = (),
    classifiers: Iterable[Classifier] = (),
    sinks: Sequence[Sink] = (),
    rules: Sequence[Mapping[str, Any]] = (),
    tends: bool = True,
    environment: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[App]:
    """The workspace around a path, running: its catalog, its policy and its ledger.

    `tools`: Python functions (or modules of them) marked with `ferrule.tool`. `build`: whether to build the catalog when
    it is `missing` (default), `always`, or `never`. `rules`: extra policy rules of this process (source `command`).
    `tends=False` leaves lost, expired and answered calls to other processes. Raises FerruleError.
    """
    workspace = Workspace.open(path)
    env = os.environ if environment is None else environment
    time = clock or Clock()
    given = tuple(tools)
    catalog = load_or_build_catalog(workspace, build)
    if isinstance(catalog, EmptyCatalog) and not (given or executors or workspace.has_settings_file):
        raise WorkspaceError(
            f"there is no workspace in {workspace.root}: neither a ferrule.toml nor a definition;"
            " 'ferrule init' makes one, or name another with --workspace"
        )
    store = make_ledger(workspace, time)
    overrides = Overrides(
        tools=given, executors=tuple(executors), hooks=tuple(hooks), classifiers=tuple(classifiers), tends=tends,
        policy=WorkspacePolicy(workspace.root, env, rules) if rules else None,
    )  # fmt: skip
    try:
        parts = assemble(workspace, catalog, store, time, env, overrides)
    except UnknownBinding as error:
        if build == "always" or not is_stale(workspace):
            raise
        raise BindingError(
            f"{error.label} is bound to {error.name!r}, which the catalog does not have, and definitions changed since it was"
            " built; 'ferrule build' builds it anew, and so does --build before a command"
        ) from None
    async with run_app(parts, make_followers(parts, workspace, sinks)) as app:
        yield app


def make_followers(parts: Parts, workspace: Workspace, sinks: Sequence[Sink]) -> list[Follower]:
    """Returns what feeds the sinks of the settings, and further ones, with what is recorded. Raises SettingsError."""
    followers = make_sink_followers(workspace.settings.sinks, parts.store, source=parts.name, folder=workspace.root)
    return [*followers, *(Follower(parts.store, sink, source=parts.name) for sink in sinks)]


@asynccontextmanager
async def run_app(parts: Parts, followers: Iterable[Follower] = ()) -> AsyncIterator[App]:
    """Runs an app and what follows its ledger, and closes them."""
    async with AsyncExitStack() as stack:
        if parts.services.redactor is not None:
            stack.callback(guard_logs(parts.services.redactor))
        app = await stack.enter_async_context(App(parts))
        for follower in followers:
            follower.start()
            stack.push_async_callback(follower.aclose)
        stack.push_async_callback(parts.store.flush)
        yield app


@asynccontextmanager
async def open_store(path: str | Path = ".") -> AsyncIterator[Store]:
    """Only the ledger of the workspace around a path, to look at. Raises LedgerError when there is none yet."""
    workspace = Workspace.open(path)
    if not (workspace.root / workspace.settings.ledger.path).exists():
        raise LedgerError("there is no ledger here yet; it begins with the first 'ferrule call'")
    store = make_ledger(workspace, Clock())
    await store.open()
    try:
        yield store
    finally:
        await store.aclose()


def make_ledger(workspace: Workspace, clock: Clock) -> SqliteStore:
    """The workspace's ledger, not open yet. Its key is made with the first one."""
    settings = workspace.settings.ledger
    path = workspace.root / settings.path
    path.parent.mkdir(parents=True, exist_ok=True)
    return SqliteStore(
        path,
        load_ledger_key(workspace),
        witness=_make_witness(workspace, settings.witness),
        behind_seconds=settings.behind_seconds,
        clock=clock.now,
    )


def load_ledger_key(workspace: Workspace) -> Ed25519PrivateKey:
    """The key that signs the ledger's heads: outside the ledger, made once."""
    file = workspace.root / LEDGER_KEY
    if not file.exists():
        with suppress(SealError):  # another process made it just now
            make_key(file)
    key = load_key(file)
    trust(workspace.root / LEDGER_PUBLIC, public_half(key))
    return key


def _make_witness(workspace: Workspace, where: str) -> Witness | None:
    if not where:
        return None
    if "://" in where:
        network = _network(workspace.settings, os.environ, workspace.root)
        return _webhook_witness(network.make_client, where)
    return FileWitness(workspace.root / Path(where).expanduser())


def assemble(
    workspace: Workspace,
    under: CatalogView,
    store: Store,
    clock: Clock,
    env: Mapping[str, str],
    overrides: Overrides = NO_OVERRIDES,
) -> Parts:
    """Builds the parts of an app: those that the workspace's settings name, and the overrides before or instead of them.
    Nothing is opened. Raises FerruleError."""
    settings, root = workspace.settings, workspace.root
    new_id = id_maker(clock)
    redactor = KnownSecrets(_with_signing_secrets(settings), env)
    given = (
        *load_modules(root, settings.functions.modules, settings.functions.paths),
        *bind_functions(root, settings.functions.bind, settings.functions.paths),
        *overrides.tools,
        *_list_imported_tools(root, settings),
    )
    catalog, functions = join_functions(
        under,
        given,
        None if overrides.has_module_namespaces else workspace.namespace,
        environment=env,
        on_secret=redactor.add,
        threads=settings.functions.threads,
        processes=settings.functions.processes,
        isolate=settings.functions.isolate,
    )
    fired = FiredRuns()
    key = overrides.key or ApprovalKey.load(root / KEY_FILE)
    connections = partial(
        _connections_of,
        settings=settings,
        env=env,
        root=root,
        learn=redactor.add,
        tick=clock.seconds,
        now=clock.now,
        key=key,
        redactor=redactor,
    )
    network: Callable[[], Network] = cache(partial(_network, settings, env, root, redactor.add))
    said = settings.network
    if said.proxy or said.ca or said.tls or any(map(env.get, _PROXY_VARIABLES)):
        network()  # what cannot be used is told now and not by the first call, and logins are known before anything is said
    outside = ProcessResources(lambda: network().make_client(), connections)
    hooks = _make_hooks(workspace, env, outside.client, overrides.hooks, catalog, fired)
    classifiers = {**BUILTIN, **{classifier.name: classifier for classifier in overrides.classifiers}}
    recipients = [*_make_recipients(workspace, env, outside.client), *map(Recipient, overrides.notifiers)]
    notices = Notices(recipients, workspace.namespace, input_of=lambda call: _read_masked_input(store, call))
    functions.credential_sources = lambda: credential_sources_of(outside.transport_services)
    fixed = partial(list_fixed_files, workspace)
    protected = list_protected_files(workspace, env)
    builtins = _make_builtins(workspace, env, outside.client, protected, fixed)
    shell = ShellExecutor(
        root,
        sandbox=settings.builtins.sandbox,
        protected=protected,
        fixed=fixed,
        max_output_bytes=settings.builtins.max_output_bytes,
        env=env,
        vault=lambda: outside.transport_services.vault,
    )
    transports = TransportExecutor(lambda: outside.transport_services, settings.mcp.programs.values())
    return Parts(
        store=store,
        clock=clock,
        new_id=new_id,
        catalog=catalog,
        policy=overrides.policy or WorkspacePolicy(root, env),
        remake_catalog=lambda: _rebuild_catalog(root, functions),
        readiness_state=_watch_secrets(workspace),
        executors=(
            SearchExecutor(new_id, settings.surface),
            *overrides.executors,
            functions,
            builtins,
            shell,
            transports,
        ),
        installed=_make_installed_executors,
        key=key,
        services=Services(
            store=store,
            now=clock.now,
            tick=clock.tick,
            sealing=key,
            unsatisfied=unsatisfied,
            call_facts=compute_call_facts,
            scheduler=Scheduler(settings.scheduler),
            live=InFlight(),
            budgets=RetryBudgets(settings.retries),
            breakers=Breakers(settings.retries, clock.seconds),
            classifiers=classifiers,
            hooks=hooks,
            redactor=redactor,
            payloads=overrides.payloads or _make_payloads(workspace, clock),
            results=settings.results,
            retries=settings.retries,
            records_behind=settings.ledger.read_only == "behind",
            parked=notices.tell,
            why_ended=overrides.why_ended or _make_why_ended(workspace),
        ),
        readiness=ProcessReadiness(
            lambda tool: functions.can_run(tool) or transports.has_program(tool),
            builtins.is_enabled,
            lambda tool: outside.missing_secrets(tool, overrides.executors),
        ),
        name=workspace.namespace,
        root=root,
        surface_settings=settings.surface,
        outside=outside,
        tends=overrides.tends,
        notices=notices,
        cache=ResultCache(settings.cache, clock.seconds),
        closing=(notices.aclose, *(hook.aclose for hook in hooks if hasattr(hook, "aclose"))),
        fired=fired,
    )


def _make_hooks(
    workspace: Workspace,
    env: Mapping[str, str],
    client: Callable[[], Client],
    others: Sequence[Hook],
    catalog: CatalogView,
    fired: FiredRuns,
) -> tuple[Hook, ...]:
    """The hooks of the settings, then those that a program brought, with the guardrails around them."""
    settings, root = workspace.settings, workspace.root
    agents = list_agent_files(catalog)
    hooks = (*build_hooks(settings.hooks, root, env, client), *others)
    if not settings.guardrails and not agents:
        return hooks
    return order_hooks(hooks, build_guardrails(settings.guardrails, agents, root, env, client, fired))


def _make_why_ended(workspace: Workspace) -> WhyEnded:
    """Tells by the workspace's keys which calls came with one that has ended."""
    access = Access(workspace.root)
    return lambda channel, now: access.why_ended(channel, now / MICROSECONDS)


def _list_imported_tools(root: Path, settings: Settings) -> tuple[Tool, ...]:
    """The tools of other servers, as they were accepted."""
    return (*list_imported_tools(root, settings.mcp), *list_imported_oxp_tools(root, settings.oxp))


def _with_signing_secrets(settings: Settings) -> RedactionSettings:
    """What is redacted, with the secrets that sign what is sent: whoever names one in the settings need not name it twice."""
    signing = [hook.secret_env for hook in settings.hooks]
    signing += [guardrail.secret_env for guardrail in settings.guardrails]
    signing += [notify.secret_env for notify in settings.approval.notify]
    signing.append(settings.serve.oxp.jwt_secret_env)
    names = dict.fromkeys((*settings.redaction.secrets_env, *filter(None, signing)))
    return msgspec.structs.replace(settings.redaction, secrets_env=tuple(names))


def _make_payloads(workspace: Workspace, clock: Clock) -> PayloadStore | None:
    settings = workspace.settings.results
    return FilePayloads(workspace.root / settings.path, clock.now) if settings.store == "files" else None


def _make_builtins(
    workspace: Workspace,
    env: Mapping[str, str],
    client: Callable[[], Client],
    protected: Iterable[Path],
    fixed: Callable[[], Iterable[Path]],
) -> BuiltinExecutor:
    settings = workspace.settings
    return BuiltinExecutor(
        workspace.root,
        env,
        client,
        protected=protected,
        fixed=fixed,
        sandbox=settings.builtins.sandbox,
        max_output_bytes=settings.builtins.max_output_bytes,
        max_result_chars=settings.results.max_inline_chars,
    )


def _make_installed_executors() -> tuple[Executor, ...]:
    """The executors that other packages registered, after everything the caller brought."""
    return tuple(_executors.get(name)() for name in _executors.names() if name != FUNCTION)


def load_or_build_catalog(workspace: Workspace, when: Build) -> CatalogView:
    """The workspace's sealed catalog; built first if need be. Without any definition: an empty one."""
    if when == "always" or (when == "missing" and not (workspace.root / CATALOG_FILE).exists()):
        if not any(compiled.compiled for compiled in workspace.compile()):
            return EmptyCatalog()
        _build_release(workspace)
    return SealedCatalog(load_catalog(workspace))


def _rebuild_catalog(root: Path, functions: FunctionExecutor) -> CatalogView:
    """The catalog from the definitions, the settings and the lock as they are now, with the functions of this process."""
    workspace = Workspace.open(root)
    under = load_or_build_catalog(workspace, "always")
    return rejoin_functions(under, _list_imported_tools(root, workspace.settings), functions)


def _watch_secrets(workspace: Workspace) -> Callable[[], Any]:
    """What changes when the file of secrets does: tools that lacked one can be used then."""
    name = workspace.settings.secrets.env_file
    return (lambda: stat_stamp(workspace.root / name)) if name else lambda: None


async def _read_masked_input(store: Store, call: str) -> Any:
    """The input of a waiting call as people may see it: masked."""
    found = [payload for row in await store.rows_of(call) if (payload := row.inputs()) is not None]
    shown = find_last_input(found[-1]) if found else None
    return None if shown is None else msgspec.json.decode(shown)


def _make_recipients(workspace: Workspace, env: Mapping[str, str], client: Callable[[], Client]) -> list[Recipient]:
    made = []
    for settings in workspace.settings.approval.notify:
        secret = env.get(settings.secret_env, "") if settings.secret_env else ""
        if not secret:
            # Not an error: whoever approves on another machine need not have what only a caller's process uses.
            _log.warning(
                "nobody is told of waiting calls by the %s to %s: set the secret in the environment variable %s",
                settings.kind,
                settings.url,
                settings.secret_env or "(name it with secret_env)",
            )
            continue
        make = _notifiers.get(settings.kind)
        notifier = make(client=client(), url=settings.url, secret=secret)
        made.append(Recipient(notifier, settings.include_input))
    return made
