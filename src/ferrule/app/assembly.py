"""Assembles the parts of an app from a workspace: its settings name them, overrides replace or add some.

Nothing is opened here; `opening` does that. One method of `_Assembly` makes one group of parts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ferrule.access.keys import Access
from ferrule.app.catalogs import list_server_tools, rebuild_catalog
from ferrule.app.parts import Parts
from ferrule.app.policy_source import PolicyProvider, WorkspacePolicy, stat_stamp
from ferrule.app.protected_files import list_fixed_files, list_protected_files
from ferrule.app.resources import ProcessReadiness, ProcessResources
from ferrule.contracts.executor import Executor
from ferrule.contracts.hook import Hook
from ferrule.contracts.notifier import Notifier
from ferrule.contracts.payloads import PayloadStore
from ferrule.contracts.policy import Classifier
from ferrule.contracts.registry import Registry, late
from ferrule.contracts.store import Store
from ferrule.contracts.surface import CatalogView
from ferrule.infra.clock import Clock, id_maker
from ferrule.ledger.payloads.files import FilePayloads
from ferrule.model.persistence import RedactionSettings
from ferrule.model.timestamps import MICROSECONDS
from ferrule.runtime.approval.check import why_unsatisfied
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
from ferrule.runtime.functions.function_tools import join_functions
from ferrule.runtime.hooks.builtin import build_hooks
from ferrule.runtime.hooks.guardrail_agents import list_agent_files
from ferrule.runtime.hooks.guardrail_records import FiredRuns
from ferrule.runtime.hooks.guardrail_set import build_guardrails, order_hooks
from ferrule.runtime.notifiers.builtin import GROUP as NOTIFIER_GROUP
from ferrule.runtime.notifiers.builtin import NOTIFIERS
from ferrule.runtime.pipeline.breaker import Breakers
from ferrule.runtime.pipeline.live import InFlight
from ferrule.runtime.pipeline.resumption import find_last_input
from ferrule.runtime.pipeline.retries import RetryBudgets
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.policy.classifiers import BUILTIN
from ferrule.runtime.policy.facts import compute_call_facts
from ferrule.runtime.redaction.redactor import KnownSecrets
from ferrule.runtime.scheduler.scheduler import Scheduler
from ferrule.runtime.surface.search_tool import SearchExecutor
from ferrule.settings import Settings
from ferrule.workspace.workspace import Workspace

if TYPE_CHECKING:
    from ferrule.app.network import Network

if TYPE_CHECKING:
    from ferrule.app.connections import Connections

_log = logging.getLogger("ferrule.approval")
_network: Callable[..., Network] = late("ferrule.app.network:Network")
_connections_of: Callable[..., Connections] = late("ferrule.app.connections:make_connections")  # brings the network
_executors: Registry[Callable[[], Executor]] = Registry("executor", EXECUTORS, EXECUTOR_GROUP)
_notifiers: Registry[Callable[..., Notifier]] = Registry("notifier", NOTIFIERS, NOTIFIER_GROUP)

_PROXY_VARIABLES = ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY")


class Overrides(msgspec.Struct, frozen=True, kw_only=True):
    """Parts that a program or a test brings to an app, before or instead of those that the workspace names."""

    tools: tuple[Any, ...] = ()
    """Python functions, modules of them, and canonical tools, besides those of the settings."""
    has_module_namespaces: bool = False
    """Functions without a namespace get that of their module, not that of the workspace."""
    executors: tuple[Executor, ...] = ()
    """Asked before those of Ferrule."""
    hooks: tuple[Hook, ...] = ()
    """Run after those of the settings."""
    classifiers: tuple[Classifier, ...] = ()
    notifiers: tuple[Notifier, ...] = ()
    """Notified of waiting calls, besides those of the settings."""
    policy: PolicyProvider | None = None
    """Instead of the policy's files."""
    key: ApprovalKey | None = None
    """Instead of the workspace's."""
    why_ended: WhyEnded | None = None
    """Tells why a call's key is no longer valid, instead of the workspace's keys."""
    payloads: PayloadStore | None = None
    """Instead of the place that the settings name."""
    tends: bool = True
    """False leaves housekeeping to other processes: lost, expired and answered calls."""


NO_OVERRIDES = Overrides()


def assemble(
    workspace: Workspace,
    under: CatalogView,
    store: Store,
    clock: Clock,
    env: Mapping[str, str],
    overrides: Overrides = NO_OVERRIDES,
) -> Parts:
    """Builds the parts of an app on a catalog: those of the workspace's settings, and the overrides. Opens nothing. Raises
    FerruleError."""
    return _Assembly(workspace, store, clock, env, overrides).build(under)


class _Assembly:
    """The parts that other parts are made with."""

    def __init__(
        self, workspace: Workspace, store: Store, clock: Clock, env: Mapping[str, str], overrides: Overrides
    ) -> None:
        self._workspace = workspace
        self._settings = settings = workspace.settings
        self._root = workspace.root
        self._store = store
        self._clock = clock
        self._env = env
        self._overrides = overrides
        self._redactor = KnownSecrets(_with_signing_secrets(settings), env)
        self._fired = FiredRuns()
        # Listed at each use: definitions and imported modules change while the process runs.
        self._fixed = partial(list_fixed_files, workspace)

    def build(self, under: CatalogView) -> Parts:
        """Returns the parts. Raises FerruleError."""
        settings, overrides = self._settings, self._overrides
        new_id = id_maker(self._clock)
        # First, so that a broken function fails before a key is made or the network is touched.
        catalog, functions = self._join_functions(under)
        hooks = self._make_hooks(catalog)
        notices = self._make_notices()
        builtins, shell, transports = self._make_builtins(), self._make_shell(), self._make_transports()
        functions.credential_sources = lambda: credential_sources_of(self._outside.transport_services)
        return Parts(
            store=self._store,
            clock=self._clock,
            new_id=new_id,
            catalog=catalog,
            policy=overrides.policy or WorkspacePolicy(self._root, self._env),
            remake_catalog=partial(rebuild_catalog, self._root, functions),
            readiness_state=self._watch_secrets(),
            executors=(
                SearchExecutor(new_id, settings.surface),
                *overrides.executors,
                functions,
                builtins,
                shell,
                transports,
            ),
            installed=_make_installed_executors,
            key=self._key,
            services=self._make_services(hooks, notices),
            readiness=ProcessReadiness(
                lambda tool: functions.can_run(tool) or transports.has_program(tool),
                builtins.is_enabled,
                lambda tool: self._outside.missing_secrets(tool, overrides.executors),
            ),
            name=self._workspace.namespace,
            root=self._root,
            surface_settings=settings.surface,
            outside=self._outside,
            tends=overrides.tends,
            notices=notices,
            cache=ResultCache(settings.cache, self._clock.seconds),
            closing=(notices.aclose, *(hook.aclose for hook in hooks if hasattr(hook, "aclose"))),
            fired=self._fired,
        )

    @cached_property
    def _key(self) -> ApprovalKey:
        return self._overrides.key or ApprovalKey.load(self._root / KEY_FILE)

    @cached_property
    def _protected_files(self) -> list[Path]:
        return list_protected_files(self._workspace, self._env)

    @cached_property
    def _outside(self) -> ProcessResources:
        """The connections to other systems, each opened when it is first used."""
        settings, clock = self._settings, self._clock
        network: Callable[[], Network] = cache(partial(_network, settings, self._env, self._root, self._redactor.add))
        chosen = settings.network
        if chosen.proxy or chosen.ca or chosen.tls or any(map(self._env.get, _PROXY_VARIABLES)):
            # A wrong proxy or certificate fails here and not with the first call, and the redactor knows the login of the
            # proxy before anything is logged.
            network()
        connect = partial(
            _connections_of,
            settings=settings,
            env=self._env,
            root=self._root,
            learn=self._redactor.add,
            tick=clock.seconds,
            now=clock.now,
            key=self._key,
            redactor=self._redactor,
        )
        return ProcessResources(lambda: network().make_client(), connect)

    def _join_functions(self, under: CatalogView) -> tuple[CatalogView, FunctionExecutor]:
        """Adds imported tools and Python functions to a catalog. Raises BindingError or CatalogError."""
        functions, root = self._settings.functions, self._root
        tools = (
            *load_modules(root, functions.modules, functions.paths),
            *bind_functions(root, functions.bind, functions.paths),
            *self._overrides.tools,
            *list_server_tools(root, self._settings),
        )
        return join_functions(
            under,
            tools,
            None if self._overrides.has_module_namespaces else self._workspace.namespace,
            environment=self._env,
            on_secret=self._redactor.add,
            threads=functions.threads,
            processes=functions.processes,
            isolate=functions.isolate,
        )

    def _make_services(self, hooks: tuple[Hook, ...], notices: Notices) -> Services:
        """Makes the services that the phases of a call use."""
        settings, clock, overrides = self._settings, self._clock, self._overrides
        return Services(
            store=self._store,
            now=clock.now,
            tick=clock.tick,
            sealing=self._key,
            why_unsatisfied=why_unsatisfied,
            call_facts=compute_call_facts,
            scheduler=Scheduler(settings.scheduler),
            live=InFlight(),
            budgets=RetryBudgets(settings.retries),
            breakers=Breakers(settings.retries, clock.seconds),
            classifiers={**BUILTIN, **{classifier.name: classifier for classifier in overrides.classifiers}},
            hooks=hooks,
            redactor=self._redactor,
            payloads=overrides.payloads or self._make_payloads(),
            results=settings.results,
            retries=settings.retries,
            records_behind=settings.ledger.read_only == "behind",
            on_parked=notices.tell,
            why_ended=overrides.why_ended or _make_why_ended(self._workspace),
        )

    def _make_hooks(self, catalog: CatalogView) -> tuple[Hook, ...]:
        """Makes the hooks of the settings, then adds those of the program, with the guardrails around them."""
        settings, root, env, client = self._settings, self._root, self._env, self._outside.client
        agents = list_agent_files(catalog)
        hooks = (*build_hooks(settings.hooks, root, env, client), *self._overrides.hooks)
        if not settings.guardrails and not agents:
            return hooks
        return order_hooks(hooks, build_guardrails(settings.guardrails, agents, root, env, client, self._fired))

    def _make_notices(self) -> Notices:
        recipients = [*self._make_recipients(), *map(Recipient, self._overrides.notifiers)]
        return Notices(
            recipients, self._workspace.namespace, input_of=lambda call: _read_masked_input(self._store, call)
        )

    def _make_recipients(self) -> Iterator[Recipient]:
        for settings in self._settings.approval.notify:
            secret = self._env.get(settings.secret_env, "") if settings.secret_env else ""
            if not secret:
                # Not an error: an approver on another machine need not have what only the process of a caller uses.
                _log.warning(
                    "nobody is told of waiting calls by the %s to %s: set the secret in the environment variable %s",
                    settings.kind,
                    settings.url,
                    settings.secret_env or "(name it with secret_env)",
                )
                continue
            make = _notifiers.get(settings.kind)
            notifier = make(client=self._outside.client(), url=settings.url, secret=secret)
            yield Recipient(notifier, settings.include_input)

    def _make_builtins(self) -> BuiltinExecutor:
        settings = self._settings
        return BuiltinExecutor(
            self._root,
            self._env,
            self._outside.client,
            protected=self._protected_files,
            fixed=self._fixed,
            sandbox=settings.builtins.sandbox,
            max_output_bytes=settings.builtins.max_output_bytes,
            max_result_chars=settings.results.max_inline_chars,
        )

    def _make_shell(self) -> ShellExecutor:
        settings = self._settings.builtins
        return ShellExecutor(
            self._root,
            sandbox=settings.sandbox,
            protected=self._protected_files,
            fixed=self._fixed,
            max_output_bytes=settings.max_output_bytes,
            env=self._env,
            vault=lambda: self._outside.transport_services.vault,
        )

    def _make_transports(self) -> TransportExecutor:
        return TransportExecutor(lambda: self._outside.transport_services, self._settings.mcp.programs.values())

    def _make_payloads(self) -> PayloadStore | None:
        settings = self._settings.results
        return FilePayloads(self._root / settings.path, self._clock.now) if settings.store == "files" else None

    def _watch_secrets(self) -> Callable[[], object]:
        """Returns a question whose answer changes with the file of secrets: then tools that lacked one may be usable."""
        name = self._settings.secrets.env_file
        return (lambda: stat_stamp(self._root / name)) if name else lambda: None


def _make_why_ended(workspace: Workspace) -> WhyEnded:
    """Returns what tells, by the workspace's keys, why the key of a call is no longer valid."""
    access = Access(workspace.root)
    return lambda channel, now: access.why_ended(channel, now / MICROSECONDS)


def _with_signing_secrets(settings: Settings) -> RedactionSettings:
    """Returns what to redact, with the secrets that sign requests: nobody has to name those twice in the settings."""
    signing = [hook.secret_env for hook in settings.hooks]
    signing += [guardrail.secret_env for guardrail in settings.guardrails]
    signing += [notify.secret_env for notify in settings.approval.notify]
    signing.append(settings.serve.oxp.jwt_secret_env)
    names = dict.fromkeys((*settings.redaction.secrets_env, *filter(None, signing)))
    return msgspec.structs.replace(settings.redaction, secrets_env=tuple(names))


def _make_installed_executors() -> tuple[Executor, ...]:
    """Makes the executors that other packages registered."""
    return tuple(_executors.get(name)() for name in _executors.names() if name != FUNCTION)


async def _read_masked_input(store: Store, call: str) -> object:
    """Returns the input of a waiting call as people may see it: masked."""
    found = [payload for row in await store.rows_of(call) if (payload := row.inputs()) is not None]
    shown = find_last_input(found[-1]) if found else None
    return None if shown is None else msgspec.json.decode(shown)
