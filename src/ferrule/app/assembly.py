"""Putting an App together from a workspace: which catalog, which policy, which ledger, which executors.

async with open_app("./workspace") as app: ...
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.access.keys import Access
from ferrule.app.app import App, Parts
from ferrule.app.protected_files import fixed_files, protected_files
from ferrule.app.resources import Here, Outside
from ferrule.contracts.executor import Executor
from ferrule.contracts.hook import Hook
from ferrule.contracts.notifier import Notifier
from ferrule.contracts.payloads import PayloadStore
from ferrule.contracts.policy import Classifier, PolicyEngine
from ferrule.contracts.registry import Registry, late
from ferrule.contracts.sink import Sink
from ferrule.contracts.store import Store, Witness
from ferrule.contracts.surface import CatalogView
from ferrule.definitions.compiler.seal import load_key, make_key, public_half, trust
from ferrule.errors import BindingError, LedgerError, SealError, SettingsError, UnknownBinding, WorkspaceError
from ferrule.infra.clock import Clock, id_maker
from ferrule.infra.lockfile.oxp_tools import imported_oxp_tools
from ferrule.infra.lockfile.tools import imported_tools
from ferrule.ledger.payloads.files import FilePayloads
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.ledger.stores.witness import FileWitness
from ferrule.model.approval import Identity
from ferrule.model.persistence import RedactionSettings
from ferrule.model.timestamps import MICROSECONDS, iso
from ferrule.model.tool import Tool
from ferrule.runtime.approval.check import unsatisfied
from ferrule.runtime.approval.inbox import Accept, WhyEnded
from ferrule.runtime.approval.key import KEY_FILE, ApprovalKey
from ferrule.runtime.approval.notices import Notices, Recipient
from ferrule.runtime.builtins.executor import BuiltinExecutor
from ferrule.runtime.executors.builtin import EXECUTORS, FUNCTION
from ferrule.runtime.executors.builtin import GROUP as EXECUTOR_GROUP
from ferrule.runtime.executors.caching import Cache
from ferrule.runtime.executors.function import FunctionExecutor, delegation_of
from ferrule.runtime.executors.shell import ShellExecutor
from ferrule.runtime.executors.transports import TransportExecutor
from ferrule.runtime.functions import bound_functions, load_modules
from ferrule.runtime.functions.function_tools import joined, rejoined
from ferrule.runtime.hooks.builtin import hooks_of
from ferrule.runtime.hooks.guardrail_agents import agents_in
from ferrule.runtime.hooks.guardrail_records import FiredRuns
from ferrule.runtime.notifiers.builtin import GROUP as NOTIFIER_GROUP
from ferrule.runtime.notifiers.builtin import NOTIFIERS
from ferrule.runtime.pipeline.breaker import Breakers
from ferrule.runtime.pipeline.live import InFlight
from ferrule.runtime.pipeline.redaction import guard_logs
from ferrule.runtime.pipeline.resumption import last_input
from ferrule.runtime.pipeline.retries import RetryBudgets
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.policy.accept import accept_suggestion
from ferrule.runtime.policy.classifiers import BUILTIN
from ferrule.runtime.policy.engine import engine_of
from ferrule.runtime.policy.facts import call_facts
from ferrule.runtime.policy.load import LOCAL_FILE, homes, load_policy, read_project
from ferrule.runtime.redaction.redactor import KnownSecrets
from ferrule.runtime.scheduler.scheduler import Scheduler
from ferrule.runtime.surface.catalogs import EmptyCatalog, SealedCatalog
from ferrule.runtime.surface.search_tool import SearchExecutor
from ferrule.settings import FILE_NAME, Settings, load_settings
from ferrule.workspace.staleness import CATALOG_FILE, load_catalog
from ferrule.workspace.staleness import is_stale as is_stale
from ferrule.workspace.workspace import Workspace

if TYPE_CHECKING:
    from ferrule.app.blocking import SyncApp
    from ferrule.app.follower import Follower
    from ferrule.app.network import Network
    from ferrule.infra.network.client import Client

LEDGER_KEY = ".ferrule/keys/ledger.key"
LEDGER_PUBLIC = ".ferrule/keys/ledger.pub"

_log = logging.getLogger("ferrule.approval")
_build_catalog: Callable[[Workspace], Any] = late("ferrule.workspace.releases:build")
_memory_store: Callable[..., Store] = late("ferrule.ledger.stores.memory.store:MemoryStore")
_followers_of: Callable[..., list[Follower]] = late("ferrule.app.follower:followers_of")
_follower: Callable[..., Follower] = late("ferrule.app.follower:Follower")
_guardrails_of: Callable[..., tuple[Hook, ...]] = late("ferrule.runtime.hooks.guardrail_set:guardrails_of")
_around: Callable[..., tuple[Hook, ...]] = late("ferrule.runtime.hooks.guardrail_set:around")
_sync_app: Callable[..., SyncApp] = late("ferrule.app.blocking:SyncApp")
_network: Callable[..., Network] = late("ferrule.app.network:Network")
_webhook_witness: Callable[..., Witness] = late("ferrule.ledger.stores.web_witness:WebhookWitness")
_surroundings_of: Callable[..., Any] = late("ferrule.app.surroundings:surroundings_of")
_missing_secrets: Callable[..., Collection[str]] = late("ferrule.app.surroundings:missing_secrets")
_executors: Registry[Callable[[], Executor]] = Registry("executor", EXECUTORS, EXECUTOR_GROUP)
_notifiers: Registry[Callable[..., Notifier]] = Registry("notifier", NOTIFIERS, NOTIFIER_GROUP)

_PROXY_VARIABLES = ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY")

Build = Literal["missing", "always", "never"]
"""When the catalog is built from the definitions: if there is none, every time, or not at all."""


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
    catalog = built_catalog(workspace, build)
    if isinstance(catalog, EmptyCatalog) and not (given or executors or workspace.has_settings_file):
        raise WorkspaceError(
            f"there is no workspace in {workspace.root}: neither a ferrule.toml nor a definition;"
            " 'ferrule init' makes one, or name another with --workspace"
        )
    store = ledger(workspace, time)
    try:
        parts = _parts(workspace, store, time, env, catalog, tools=given, executors=executors, hooks=hooks,
                       classifiers=classifiers, rules=rules, tends=tends)  # fmt: skip
    except UnknownBinding as error:
        if build == "always" or not is_stale(workspace):
            raise
        raise BindingError(
            f"{error.label} is bound to {error.name!r}, which the catalog does not have, and definitions changed since it was"
            " built; 'ferrule build' builds it anew, and so does --build before a command"
        ) from None
    followers = _followers(workspace, store, parts.name, sinks)
    async with AsyncExitStack() as stack:
        if parts.services.redactor is not None:
            stack.callback(guard_logs(parts.services.redactor))
        app = await stack.enter_async_context(App(parts))
        for follower in followers:
            follower.start()
            stack.push_async_callback(follower.aclose)
        stack.push_async_callback(store.flush)
        yield app


def _followers(workspace: Workspace, store: Store, name: str, sinks: Sequence[Sink]) -> list[Follower]:
    """Whoever is told what is recorded; most workspaces have nobody."""
    told = workspace.settings.sinks
    found = _followers_of(told, store, source=name, folder=workspace.root) if told else []
    return [*found, *(_follower(store, sink, source=name) for sink in sinks)]


@asynccontextmanager
async def open_to_look(workspace: Workspace, catalog: CatalogView, env: Mapping[str, str]) -> AsyncIterator[App]:
    """An app on a catalog of the moment, whose ledger and key are thrown away: for whoever looks at tools and calls none.
    Nothing is written into the workspace. Raises FerruleError."""
    clock = Clock()
    store = _memory_store(clock=clock.now)
    parts = _parts(workspace, store, clock, env, catalog, tools=(), executors=(), hooks=(), classifiers=(), rules=(),
                   tends=False, key=ApprovalKey.in_memory())  # fmt: skip
    async with AsyncExitStack() as stack:
        if parts.services.redactor is not None:
            stack.callback(guard_logs(parts.services.redactor))
        yield await stack.enter_async_context(App(parts))


def open_sync(path: str | Path = ".", **options: Any) -> SyncApp:
    """The same without `await`, for scripts: `with ferrule.open_sync("./workspace") as app:`. Options as of `open_app`."""
    return _sync_app(open_app(path, **options))


@asynccontextmanager
async def open_store(path: str | Path = ".") -> AsyncIterator[Store]:
    """Only the ledger of the workspace around a path, to look at. Raises LedgerError when there is none yet."""
    workspace = Workspace.open(path)
    if not (workspace.root / workspace.settings.ledger.path).exists():
        raise LedgerError("there is no ledger here yet; it begins with the first 'ferrule call'")
    store = ledger(workspace, Clock())
    await store.open()
    try:
        yield store
    finally:
        await store.aclose()


def ledger(workspace: Workspace, clock: Clock) -> SqliteStore:
    """The workspace's ledger, not open yet. Its key is made with the first one."""
    settings = workspace.settings.ledger
    path = workspace.root / settings.path
    path.parent.mkdir(parents=True, exist_ok=True)
    return SqliteStore(
        path,
        ledger_key(workspace),
        witness=_witness(workspace, settings.witness),
        behind_seconds=settings.behind_seconds,
        clock=clock.now,
    )


def ledger_key(workspace: Workspace) -> Ed25519PrivateKey:
    """The key that signs the ledger's heads: outside the ledger, made once."""
    file = workspace.root / LEDGER_KEY
    if not file.exists():
        with suppress(SealError):  # another process made it just now
            make_key(file)
    key = load_key(file)
    trust(workspace.root / LEDGER_PUBLIC, public_half(key))
    return key


def _witness(workspace: Workspace, where: str) -> Witness | None:
    if not where:
        return None
    if "://" in where:
        network = _network(workspace.settings, os.environ, workspace.root)
        return _webhook_witness(network.client, where)
    return FileWitness(workspace.root / Path(where).expanduser())


def _parts(
    workspace: Workspace,
    store: Store,
    clock: Clock,
    env: Mapping[str, str],
    under: CatalogView,
    *,
    tools: Iterable[Any],
    executors: Sequence[Executor],
    hooks: Sequence[Hook],
    classifiers: Iterable[Classifier],
    rules: Sequence[Mapping[str, Any]],
    tends: bool,
    key: ApprovalKey | None = None,
) -> Parts:
    settings = workspace.settings
    new_id = id_maker(clock)
    paths = settings.functions.paths
    modules = load_modules(workspace.root, settings.functions.modules, paths)
    redactor = KnownSecrets(_with_signing(settings), env)
    bound = bound_functions(workspace.root, settings.functions.bind, paths)
    given = (*modules, *bound, *tools, *_imported(workspace.root, settings))
    catalog, functions = joined(
        under,
        given,
        workspace.namespace,
        environment=env,
        on_secret=redactor.add,
        threads=settings.functions.threads,
        processes=settings.functions.processes,
        isolate=settings.functions.isolate,
    )
    fired = FiredRuns()
    key = key or ApprovalKey.load(workspace.root / KEY_FILE)
    surroundings = partial(
        _surroundings_of,
        settings=settings,
        env=env,
        root=workspace.root,
        learn=redactor.add,
        tick=clock.seconds,
        now=clock.now,
        key=key,
        redactor=redactor,
    )
    network: Callable[[], Network] = cache(partial(_network, settings, env, workspace.root, redactor.add))
    said = settings.network
    if said.proxy or said.ca or said.tls or any(map(env.get, _PROXY_VARIABLES)):
        network()  # what cannot be used is told now and not by the first call, and logins are known before anything is said
    outside = Outside(lambda: network().client(), surroundings, settings, clock.seconds)
    around_calls = (*hooks_of(settings.hooks, workspace.root, env, outside.client), *hooks)
    agents = agents_in(catalog)
    if settings.guardrails or agents:
        rails = _guardrails_of(settings.guardrails, agents, workspace.root, env, outside.client, fired)
        around_calls = _around(around_calls, rails)
    known = {**BUILTIN, **{classifier.name: classifier for classifier in classifiers}}
    notices = Notices(
        _recipients(workspace, env, outside.client),
        workspace.namespace,
        input_of=lambda call: _shown_input(store, call),
    )
    services = _services(
        settings,
        store,
        clock,
        key,
        redactor,
        notices,
        known,
        around_calls,
        _payloads(workspace, clock),
        _ended_keys(workspace),
    )
    functions.delegation = lambda: delegation_of(outside.surroundings)
    fixed = partial(fixed_files, workspace)
    builtins = _builtins(workspace, env, outside.client, fixed)
    shell = ShellExecutor(
        workspace.root,
        sandbox=settings.builtins.sandbox,
        protected=protected_files(workspace, env),
        fixed=fixed,
        max_output_bytes=settings.builtins.max_output_bytes,
        env=env,
        vault=lambda: outside.surroundings.vault,
    )
    search = SearchExecutor(new_id, settings.surface)
    transports = TransportExecutor(lambda: outside.surroundings, settings.mcp.programs.values())
    runs = (search, *executors, functions, builtins, shell, transports)
    return Parts(
        store=store,
        clock=clock,
        new_id=new_id,
        catalog=catalog,
        load_policy=_policy_loader(workspace, env, known, rules),
        policy_state=_policy_state(workspace, env),
        remake_catalog=lambda: _remade(workspace.root, functions),
        readiness_state=_secrets_state(workspace),
        executors=runs,
        installed=_installed,
        key=key,
        services=services,
        readiness=Here(
            lambda tool: functions.can_run(tool) or transports.has_program(tool),
            builtins.is_enabled,
            lambda tool: _missing(tool, outside, settings, executors),
        ),
        name=workspace.namespace,
        root=workspace.root,
        surface_settings=settings.surface,
        accept_rule=_accepting(workspace, clock, store),
        outside=outside,
        tends=tends,
        notices=notices,
        cache=Cache(settings.cache, clock.seconds),
        closing=(notices.aclose, *(hook.aclose for hook in around_calls if hasattr(hook, "aclose"))),
        fired=fired,
    )


def _ended_keys(workspace: Workspace) -> WhyEnded:
    """Tells by the workspace's keys which calls came with one that has ended."""
    access = Access(workspace.root)
    return lambda channel, now: access.why_ended(channel, now / MICROSECONDS)


def _missing(tool: Tool, outside: Outside, settings: Settings, executors: Sequence[Executor]) -> Collection[str]:
    """The secrets and authorizations that a tool names and that are not there. Most tools name none."""
    if tool.credentials is None:
        return ()
    return _missing_secrets(tool, outside.surroundings.vault, settings, executors)


def _imported(root: Path, settings: Settings) -> tuple[Tool, ...]:
    """The tools of other servers, as they were accepted."""
    return (*imported_tools(root, settings.mcp), *imported_oxp_tools(root, settings.oxp))


def _services(
    settings: Settings,
    store: Store,
    clock: Clock,
    key: ApprovalKey,
    redactor: KnownSecrets,
    notices: Notices,
    classifiers: Mapping[str, Classifier],
    hooks: Sequence[Hook],
    payloads: PayloadStore | None,
    why_ended: WhyEnded,
) -> Services:
    return Services(
        store=store,
        now=clock.now,
        tick=clock.tick,
        sealing=key,
        unsatisfied=unsatisfied,
        call_facts=call_facts,
        scheduler=Scheduler(settings.scheduler),
        live=InFlight(),
        budgets=RetryBudgets(settings.retries),
        breakers=Breakers(settings.retries, clock.seconds),
        classifiers=classifiers,
        hooks=tuple(hooks),
        redactor=redactor,
        payloads=payloads,
        results=settings.results,
        retries=settings.retries,
        records_behind=settings.ledger.read_only == "behind",
        parked=notices.tell,
        why_ended=why_ended,
    )


def _with_signing(settings: Settings) -> RedactionSettings:
    """What is redacted, with the secrets that sign what is sent: whoever names one in the settings need not name it twice."""
    signing = [hook.secret_env for hook in settings.hooks]
    signing += [guardrail.secret_env for guardrail in settings.guardrails]
    signing += [notify.secret_env for notify in settings.approval.notify]
    signing.append(settings.serve.oxp.jwt_secret_env)
    names = dict.fromkeys((*settings.redaction.secrets_env, *filter(None, signing)))
    return msgspec.structs.replace(settings.redaction, secrets_env=tuple(names))


def _payloads(workspace: Workspace, clock: Clock) -> PayloadStore | None:
    settings = workspace.settings.results
    return FilePayloads(workspace.root / settings.path, clock.now) if settings.store == "files" else None


def _builtins(
    workspace: Workspace, env: Mapping[str, str], client: Callable[[], Client], fixed: Callable[[], Iterable[Path]]
) -> BuiltinExecutor:
    settings = workspace.settings
    return BuiltinExecutor(
        workspace.root,
        env,
        client,
        protected=protected_files(workspace, env),
        fixed=fixed,
        sandbox=settings.builtins.sandbox,
        max_output_bytes=settings.builtins.max_output_bytes,
        max_result_chars=settings.results.max_inline_chars,
    )


def _installed() -> tuple[Executor, ...]:
    """The executors that other packages registered, after everything the caller brought."""
    return tuple(_executors.get(name)() for name in _executors.names() if name != FUNCTION)


def built_catalog(workspace: Workspace, when: Build) -> CatalogView:
    """The workspace's sealed catalog; built first if need be. Without any definition: an empty one."""
    if when == "always" or (when == "missing" and not (workspace.root / CATALOG_FILE).exists()):
        if not any(compiled.compiled for compiled in workspace.compile()):
            return EmptyCatalog()
        _build_catalog(workspace)
    return SealedCatalog(load_catalog(workspace))


def _remade(root: Path, functions: FunctionExecutor) -> CatalogView:
    """The catalog from the definitions, the settings and the lock as they are now, with the functions of this process."""
    workspace = Workspace.open(root)
    under = built_catalog(workspace, "always")
    return rejoined(under, _imported(root, workspace.settings), functions)


def _policy_loader(
    workspace: Workspace,
    env: Mapping[str, str],
    classifiers: Mapping[str, Classifier],
    rules: Sequence[Mapping[str, Any]],
) -> Callable[[], PolicyEngine]:
    def load() -> PolicyEngine:
        settings = load_settings(workspace.root)
        policy = load_policy(
            workspace.root,
            settings.policy,
            env,
            extra={"command": rules} if rules else None,
            expires_seconds=settings.approval.expires_seconds,
        )
        return engine_of(policy, classifiers)

    return load


def _policy_state(workspace: Workspace, env: Mapping[str, str]) -> Callable[[], Any]:
    """What changes when any file of the policy does."""

    def state() -> Any:
        try:
            choices = read_project(workspace.root, load_settings(workspace.root).policy).choices
        except SettingsError as error:
            return str(error)
        files = [workspace.root / FILE_NAME, *(home.path for home in homes(workspace.root, choices, env))]
        named = [workspace.root / name for name in (choices.shadow, choices.cedar) if name]
        return tuple(_stamp(file) for file in (*files, *named))

    return state


def _secrets_state(workspace: Workspace) -> Callable[[], Any]:
    """What changes when the file of secrets does: tools that lacked one can be used then."""
    name = workspace.settings.secrets.env_file
    return (lambda: _stamp(workspace.root / name)) if name else lambda: None


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _accepting(workspace: Workspace, clock: Clock, store: Store) -> Callable[[Identity], Accept]:
    def of(identity: Identity) -> Accept:
        async def accept(update: dict[str, object]) -> None:
            accept_suggestion(workspace.root / LOCAL_FILE, update, identity.principal, iso(clock.now()))
            store.bump()

        return accept

    return of


async def _shown_input(store: Store, call: str) -> Any:
    """The input of a waiting call as people may see it: masked."""
    found = [payload for row in await store.rows_of(call) if (payload := row.inputs()) is not None]
    shown = last_input(found[-1]) if found else None
    return None if shown is None else msgspec.json.decode(shown)


def _recipients(workspace: Workspace, env: Mapping[str, str], client: Callable[[], Client]) -> list[Recipient]:
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
