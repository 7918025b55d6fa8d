"""Putting an App together from a workspace: which catalog, which policy, which ledger, which executors.

async with open_app("./workspace") as app: ...
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.app import App, Parts
from ferrule.approval.check import unsatisfied
from ferrule.approval.inbox import Accept
from ferrule.approval.key import KEY_FILE, ApprovalKey
from ferrule.approval.notices import Notices, Recipient
from ferrule.builtins.executor import BuiltinExecutor
from ferrule.clock import Clock, id_maker
from ferrule.compiler.seal import load_key, make_key, public_half, trust
from ferrule.contracts.catalog import CatalogView
from ferrule.contracts.executor import Executor
from ferrule.contracts.hook import Hook
from ferrule.contracts.notifier import Notifier
from ferrule.contracts.payloads import PayloadStore
from ferrule.contracts.policy import Classifier, PolicyEngine
from ferrule.contracts.sink import Sink
from ferrule.contracts.store import Store
from ferrule.contracts.witness import Witness
from ferrule.errors import LedgerError, SealError, SettingsError, WorkspaceError
from ferrule.executors.builtin import EXECUTORS, FUNCTION
from ferrule.executors.builtin import GROUP as EXECUTOR_GROUP
from ferrule.executors.shell import ShellExecutor
from ferrule.follow import Follower, followers_of
from ferrule.function_tools import joined
from ferrule.functions import load_modules
from ferrule.hooks.builtin import hooks_of
from ferrule.hooks.guardrail_agents import agents_in
from ferrule.hooks.guardrail_runs import FiredRuns
from ferrule.hooks.guardrail_set import around, guardrails_of
from ferrule.model.approval import Identity
from ferrule.model.redaction import RedactionSettings
from ferrule.model.timestamps import iso
from ferrule.notifiers.builtin import GROUP as NOTIFIER_GROUP
from ferrule.notifiers.builtin import NOTIFIERS
from ferrule.payloads.files import FilePayloads
from ferrule.pipeline.breaker import Breakers
from ferrule.pipeline.live import InFlight
from ferrule.pipeline.redactor import KnownSecrets
from ferrule.pipeline.redactor_logging import guard_logs
from ferrule.pipeline.retries import RetryBudgets
from ferrule.pipeline.revive import last_input
from ferrule.pipeline.scheduler import Scheduler
from ferrule.pipeline.services import Services
from ferrule.policy.accept import accept_suggestion
from ferrule.policy.engine import engine_of
from ferrule.policy.facts import call_facts
from ferrule.policy.load import LOCAL_FILE, homes, load_policy, read_project
from ferrule.policy.shell_classifier import BUILTIN
from ferrule.readiness import Here
from ferrule.registry import Registry
from ferrule.releases import CATALOG_FILE, load_catalog
from ferrule.releases import build as build_catalog
from ferrule.searching import SearchExecutor
from ferrule.settings import FILE_NAME, Settings, load_settings
from ferrule.stores.sqlite.store import SqliteStore
from ferrule.stores.witness import FileWitness, WebhookWitness
from ferrule.surface.catalogs import EmptyCatalog, SealedCatalog
from ferrule.sync import SyncApp
from ferrule.workspace import Workspace

LEDGER_KEY = ".ferrule/keys/ledger.key"
LEDGER_PUBLIC = ".ferrule/keys/ledger.pub"

_log = logging.getLogger("ferrule.approval")
_executors: Registry[Callable[[], Executor]] = Registry("executor", EXECUTORS, EXECUTOR_GROUP)
_notifiers: Registry[Callable[..., Notifier]] = Registry("notifier", NOTIFIERS, NOTIFIER_GROUP)

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
    parts = _parts(workspace, store, time, env, catalog, tools=given, executors=executors, hooks=hooks,
                   classifiers=classifiers, rules=rules, tends=tends)  # fmt: skip
    followers = followers_of(workspace.settings.sinks, store, source=parts.name, folder=workspace.root)
    followers += [Follower(store, sink, source=parts.name) for sink in sinks]
    async with AsyncExitStack() as stack:
        if parts.services.redactor is not None:
            stack.callback(guard_logs(parts.services.redactor))
        app = await stack.enter_async_context(App(parts))
        for follower in followers:
            follower.start()
            stack.push_async_callback(follower.aclose)
        stack.push_async_callback(store.flush)
        yield app


def open_sync(path: str | Path = ".", **options: Any) -> SyncApp:
    """The same without `await`, for scripts: `with ferrule.open_sync("./workspace") as app:`. Options as of `open_app`."""
    return SyncApp(open_app(path, **options))


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
        return WebhookWitness(where)
    return FileWitness(workspace.root / Path(where).expanduser())


def _parts(
    workspace: Workspace,
    store: SqliteStore,
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
) -> Parts:
    settings = workspace.settings
    new_id = id_maker(clock)
    modules = load_modules(workspace.root, settings.functions.modules)
    redactor = KnownSecrets(_with_signing(settings), env)
    catalog, functions = joined(under, (*modules, *tools), workspace.namespace, environment=env, on_secret=redactor.add)
    fired = FiredRuns()
    allowed = settings.network.allow
    rails = guardrails_of(settings.guardrails, agents_in(catalog), workspace.root, env, allowed, fired)
    around_calls = around((*hooks_of(settings.hooks, workspace.root, env, allowed), *hooks), rails)
    known = {**BUILTIN, **{classifier.name: classifier for classifier in classifiers}}
    key = ApprovalKey.load(workspace.root / KEY_FILE)
    notices = Notices(_recipients(workspace, env), workspace.namespace, input_of=lambda call: _shown_input(store, call))
    services = Services(
        store=store,
        now=clock.now,
        tick=clock.tick,
        sealing=key,
        unsatisfied=unsatisfied,
        call_facts=call_facts,
        scheduler=Scheduler(settings.scheduler),
        live=InFlight(),
        budgets=RetryBudgets(settings.retries),
        breakers=Breakers(settings.retries, lambda: clock.tick() / 1e9),
        classifiers=known,
        hooks=around_calls,
        redactor=redactor,
        payloads=_payloads(workspace, clock),
        results=settings.results,
        retries=settings.retries,
        records_behind=settings.ledger.read_only == "behind",
        parked=notices.tell,
    )
    fixed = partial(_fixed, workspace)
    builtins = _builtins(workspace, env, fixed)
    runs = (
        SearchExecutor(new_id, settings.surface),
        *executors,
        functions,
        builtins,
        ShellExecutor(
            workspace.root,
            sandbox=settings.builtins.sandbox,
            protected=_protected(workspace, env),
            fixed=fixed,
            max_output_bytes=settings.builtins.max_output_bytes,
        ),
        *_installed(),
    )
    return Parts(
        store=store,
        clock=clock,
        new_id=new_id,
        catalog=catalog,
        load_policy=_policy_loader(workspace, env, known, rules),
        policy_state=_policy_state(workspace, env),
        executors=runs,
        key=key,
        services=services,
        readiness=Here(functions.can_run, builtins.is_enabled),
        name=workspace.namespace,
        root=workspace.root,
        surface_settings=settings.surface,
        accept_rule=_accepting(workspace, clock, store),
        tends=tends,
        closing=(notices.aclose, *(hook.aclose for hook in around_calls if hasattr(hook, "aclose"))),
        fired=fired,
    )


def _with_signing(settings: Settings) -> RedactionSettings:
    """What is redacted, with the secrets that sign what is sent: whoever names one in the settings need not name it twice."""
    signing = [hook.secret_env for hook in settings.hooks]
    signing += [guardrail.secret_env for guardrail in settings.guardrails]
    signing += [notify.secret_env for notify in settings.approval.notify]
    names = dict.fromkeys((*settings.redaction.secrets_env, *filter(None, signing)))
    return msgspec.structs.replace(settings.redaction, secrets_env=tuple(names))


def _payloads(workspace: Workspace, clock: Clock) -> PayloadStore | None:
    settings = workspace.settings.results
    return FilePayloads(workspace.root / settings.path, clock.now) if settings.store == "files" else None


def _protected(workspace: Workspace, env: Mapping[str, str]) -> list[Path]:
    """Files of the workspace that no tool may touch: its records, its rules, and the code that its settings name."""
    settings, root = workspace.settings, workspace.root
    ledger_file = root / settings.ledger.path
    named = [ledger_file, *(ledger_file.with_name(ledger_file.name + end) for end in ("-wal", "-shm"))]
    named += [
        root / settings.results.path,
        *(file for name in (*settings.functions.modules, *_functions_named(settings)) for file in _code(root, name)),
    ]
    with suppress(SettingsError):  # a policy that cannot be read refuses every call anyway
        choices = read_project(root, settings.policy).choices
        named += [home.path for home in homes(root, choices, env)]
        named += [root / name for name in (choices.shadow, choices.cedar) if name]
    words = [word for hook in settings.hooks for word in hook.command]
    words += [word for guardrail in settings.guardrails for word in guardrail.command]
    scripts = [root / word for word in words if (root / word).is_file()]
    return named + scripts + [script.parent for script in scripts if _is_below(script.parent, root)]


def _functions_named(settings: Settings) -> list[str]:
    """The modules of functions that hooks, guardrails and sinks are."""
    named = [hook.function for hook in settings.hooks] + [guardrail.function for guardrail in settings.guardrails]
    named += [sink.function or "" for sink in settings.sinks]
    return [reference.rpartition(":")[0] for reference in named if reference]


def _code(root: Path, name: str) -> list[Path]:
    """The file of a module in the workspace, and where Python keeps it compiled: it believes what it finds there."""
    file = root / (name if name.endswith(".py") else f"{name.replace('.', '/')}.py")
    return [file, file.parent / "__pycache__"] if name.endswith(".py") or file.is_file() else []


def _is_below(path: Path, root: Path) -> bool:
    """True for what is in the workspace and not the workspace itself. A script imports what lies in its folder."""
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(root), ""))


def _fixed(workspace: Workspace) -> list[Path]:
    """Files that tools may read and not change: the definitions, and what this process has imported from the workspace."""
    loaded = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    code = [Path(file) for file in loaded if file and _is_below(Path(file), workspace.root)]
    return [Path(task.path) for task in workspace.select().everything] + code


def _builtins(workspace: Workspace, env: Mapping[str, str], fixed: Callable[[], Iterable[Path]]) -> BuiltinExecutor:
    settings = workspace.settings
    return BuiltinExecutor(
        workspace.root,
        env,
        network_allow=settings.network.allow,
        protected=_protected(workspace, env),
        fixed=fixed,
        sandbox=settings.builtins.sandbox,
        max_output_bytes=settings.builtins.max_output_bytes,
        max_result_chars=settings.results.max_inline_chars,
    )


def _installed() -> list[Executor]:
    """The executors that other packages registered, after everything the caller brought."""
    return [_executors.get(name)() for name in _executors.names() if name != FUNCTION]


def built_catalog(workspace: Workspace, when: Build) -> CatalogView:
    """The workspace's sealed catalog; built first if need be. Without any definition: an empty one."""
    if when == "always" or (when == "missing" and not (workspace.root / CATALOG_FILE).exists()):
        if not any(compiled.compiled for compiled in workspace.compile()):
            return EmptyCatalog()
        build_catalog(workspace)
    return SealedCatalog(load_catalog(workspace))


def is_stale(workspace: Workspace) -> bool:
    """True when a definition was written after the catalog was built, so that calls use what was built."""
    built = _stamp(workspace.root / CATALOG_FILE)
    if built is None:
        return False
    written = (_stamp(Path(task.path)) for task in workspace.select().everything)
    return any(stamp is not None and stamp[0] > built[0] for stamp in written)


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


def _recipients(workspace: Workspace, env: Mapping[str, str]) -> list[Recipient]:
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
        notifier = make(url=settings.url, secret=secret, allowed_hosts=workspace.settings.network.allow)
        made.append(Recipient(notifier, settings.include_input))
    return made
