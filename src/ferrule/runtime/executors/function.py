"""Runs Python functions as tools: awaited, in a thread, in place, or in a process of their own where they say so.

Plain JSON goes straight into the function; only parameters and results that need it are converted. One table turns
exceptions into error classes; their text stays out of what the model and the log see, for it may hold a secret. A
function bound to an OXP tool gets the secrets and tokens its definition names, and no others, as
`context.credentials[id]` (OXP-38 to OXP-42); a missing one refuses the call. A token that the caller brought is used
instead of one the user authorized here; a secret that the caller brought, only where the workspace binds none.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ferrule.contracts.credentials import UserTokens, Vault
from ferrule.contracts.executor import Context, ExecutionFailed, Output, Support, Waiting
from ferrule.errors import BindingError, UnknownBinding
from ferrule.model.credentials import Credentials, Requirements, SecretRef, read_requirements
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.functions.binding import Binding
from ferrule.runtime.functions.children import DEFAULT_PROCESSES, Children
from ferrule.runtime.functions.companions import ToolCheck, map_resume_injections
from ferrule.runtime.functions.fitting import fit
from ferrule.runtime.functions.isolation import locate_function
from ferrule.runtime.functions.runs import AsyncRun, FunctionRun, InlineRun, ProcessRun, ThreadRun
from ferrule.runtime.functions.services import Injections
from ferrule.runtime.functions.threads import DEFAULT_SIZE, Threads

if TYPE_CHECKING:
    from ferrule.runtime.executors.transport_services import TransportServices


class CredentialSources(msgspec.Struct, frozen=True, kw_only=True):
    """The sources of the secrets and tokens that OXP tools require."""

    vault: Vault
    bindings: Mapping[str, SecretRef] = {}
    """`[secrets.bindings]`: where secrets are, by the ids that tools use."""
    users: UserTokens | None = None
    """Tokens that users authorized."""


def credential_sources_of(services: TransportServices) -> CredentialSources:
    """Returns the credential sources among the services of transports."""
    return CredentialSources(vault=services.vault, bindings=services.bindings, users=services.users)


def with_credentials(
    run: FunctionRun, tool: Tool, delegation: Callable[[], CredentialSources] | None
) -> FunctionRun | CredentialedRun:
    """Wraps a runner so that it gets the credentials its tool requires; returns it as it is when none are required."""
    if delegation is None or tool.credentials is None or tool.dialect != "oxp":
        return run
    required = read_requirements(msgspec.json.decode(tool.credentials))
    return CredentialedRun(run, tool, required, delegation()) if required.is_anything else run


def demand_authorized(name: str, required: Requirements, users: UserTokens | None, context: Context) -> None:
    """Raises ExecutionFailed when the user has not authorized what a tool requires. Does not start an authorization."""
    for provider, scopes in required.authorization.items():
        why = users.problem(provider, context.principal, scopes, tenant=context.tenant) if users else "nobody can"
        if why:
            raise ExecutionFailed(
                "credential_missing",
                f"tool {name!r} needs an authorization of {context.principal!r} at {provider!r}; {why}: run"
                f" 'ferrule connect {provider}'",
                code="authorization_required",
            )


class CredentialedRun:
    """A function's runner that fetches the tool's credentials before each call."""

    wants_context = True

    def __init__(self, run: FunctionRun, tool: Tool, required: Requirements, delegation: CredentialSources) -> None:
        both = required.secrets & required.authorization.keys()
        if both:
            raise ExecutionFailed(
                "setup_required",
                f"tool {tool.tool_id!r} names {min(both)!r} as a secret and as an authorization; rename one",
            )
        self._run = run
        self._name = tool.tool_id
        self._required = required
        self._sources = delegation
        self.preflight = run.preflight
        self.support = msgspec.structs.replace(run.support, credential_delegation=True)

    async def __call__(self, arguments: JsonObject, context: Context) -> Any:
        """Runs the function and returns its output. Raises ExecutionFailed before it runs when a credential is missing."""
        context.credentials = await self._credentials(context)
        output = self._run(arguments, context)
        return await output if inspect.isawaitable(output) else output

    async def resume(self, state: bytes, answer: object, context: Context) -> Output | Waiting:
        """Resumes the function with the answer, and with freshly fetched credentials."""
        context.credentials = await self._credentials(context)
        return await self._run.resume(state, answer, context)

    async def probe(self, context: Context) -> str:
        """Checks that every required credential is available. Neither calls the function nor starts an authorization."""
        for ref in self._refs({}).values():
            await self._sources.vault.secret(ref, context)
        demand_authorized(self._name, self._required, self._sources.users, context)
        return "a function is bound to it, and everything it requires is there"

    async def _credentials(self, context: Context) -> dict[str, str]:
        if self._required.user_id and not context.principal:
            raise ExecutionFailed(
                "credential_missing",
                f"tool {self._name!r} needs the id of a user; call it on somebody's behalf",
                code="user_id_required",
            )
        refs = self._refs(context.handed)
        tokens = await self._tokens(context)
        bound = {name: await self._sources.vault.secret(ref, context) for name, ref in refs.items()}
        brought = {name: context.handed[name] for name in self._required.secrets - bound.keys()}
        return {**brought, **bound, **tokens}

    def _refs(self, brought: Mapping[str, str]) -> dict[str, SecretRef]:
        """Returns the references of the secrets that the caller did not bring. Raises ExecutionFailed for all missing ones at
        once, before any source is asked."""
        wanted = sorted(name for name in self._required.secrets if name not in brought or self._is_bound(name))
        unbound = [name for name in wanted if name not in self._sources.bindings]
        if unbound:
            raise ExecutionFailed(
                "credential_missing",
                f"tool {self._name!r} needs {', '.join(map(repr, unbound))}; say where that is in [secrets.bindings]",
                code="secret_unbound",
            )
        refs = {name: self._sources.bindings[name] for name in wanted}
        unset = [label for ref in refs.values() for label in self._sources.vault.missing(Credentials(ref=ref))]
        if unset:
            raise ExecutionFailed(
                "credential_missing",
                f"tool {self._name!r} needs {', '.join(map(repr, unset))}, which is not set; set it",
                code="secret_unavailable",
            )
        return refs

    def _is_bound(self, name: str) -> bool:
        """Returns True when the workspace binds a secret, as far as is known without asking its source."""
        ref = self._sources.bindings.get(name)
        return ref is not None and not self._sources.vault.missing(Credentials(ref=ref))

    async def _tokens(self, context: Context) -> dict[str, str]:
        required = self._required.authorization
        brought = {name: context.handed[name] for name in required if name in context.handed}
        wanted = {name: scopes for name, scopes in required.items() if name not in brought}
        if not wanted:
            return brought
        if self._sources.users is None:
            raise ExecutionFailed(
                "credential_missing",
                f"tool {self._name!r} needs an authorization of {context.principal!r}, which cannot be given here",
                code="authorization_required",
            )
        return {**brought, **await self._sources.users.tokens(wanted, context.principal, tenant=context.tenant)}


class FunctionExecutor:
    """The functions of this process, by the tools they run."""

    support = Support(cancel=True, resume=True)
    """The support of async functions. A thread cannot be stopped: `run.support` says what each tool can do."""

    def __init__(
        self,
        bindings: Iterable[Binding],
        *,
        threads: int = DEFAULT_SIZE,
        injections: Injections | None = None,
        isolate: Iterable[str] = (),
        processes: int = DEFAULT_PROCESSES,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`injections`: values for functions besides their arguments; a logger by default. `isolate`: tools, by id or name, whose
        functions run in processes of their own although their code does not say so."""
        self._threads = Threads(threads)
        self._children = Children(os.environ if environment is None else environment, processes)
        self._injections = Injections() if injections is None else injections
        self.credential_sources: Callable[[], CredentialSources] | None = None
        """Returns the sources of the secrets and tokens that OXP tools require; set when the app is assembled."""
        self._defining: dict[str, Binding] = {}
        self._bound: dict[str, Binding] = {}
        wanted = set(isolate)
        for each in bindings:
            names = _names(each) if wanted else set()
            binding = each.isolate() if wanted & names else each
            wanted -= names
            # Both are done for their errors: what cannot be used is refused at the start, not in a call.
            if binding.check is not None:
                ToolCheck(binding, binding.check)
            if binding.isolation == "process":
                locate_function(binding)
            if binding.tool is not None:
                self._add(self._defining, binding.tool.tool_id, binding)
            elif binding.binds is not None:
                self._add(self._bound, binding.binds, binding)
        if wanted:
            raise BindingError(
                f"[functions] isolate names {min(wanted)!r}, and no function is bound to a tool of that name"
            )

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that functions define themselves."""
        return tuple(binding.tool for binding in self._defining.values() if binding.tool is not None)

    @property
    def bound_names(self) -> tuple[str, ...]:
        """The definitions that functions are bound to: tool ids, names or `namespace.name`, each possibly with `@version`."""
        return tuple(self._bound)

    def can_run(self, tool: Tool) -> bool:
        """Returns True when a function defines this tool or is bound to it."""
        return self._binding(tool) is not None

    def check(self, tools: Iterable[Tool]) -> None:
        """Raises BindingError for a function that does not fit its tool, or whose tool is not among these."""
        served: set[int] = set()
        for tool in tools:
            binding = self._binding(tool)
            if binding is not None:
                fit(binding, tool)
                served.add(id(binding))
        for name, binding in self._bound.items():
            if id(binding) not in served:
                raise UnknownBinding(binding.label, name)

    def prepare(self, tool: Tool) -> FunctionRun | CredentialedRun:
        """Returns the runner of one tool. Raises ExecutionFailed (`setup_required`) when no function fits it."""
        binding = self._binding(tool)
        if binding is None:
            raise ExecutionFailed(
                "setup_required", f"no function is bound to the tool {tool.tool_id!r} in this process"
            )
        try:
            fitted = fit(binding, tool)
            if binding.isolation == "process":
                isolated = ProcessRun(binding, tool, fitted, self._threads, self._children)
                return with_credentials(isolated, tool, self.credential_sources)
            injection = self._injections.prepare(tool, fitted.injected, self._threads)
            wanted = map_resume_injections(binding.resume, fitted.injected) if binding.resume is not None else {}
            going_on = self._injections.prepare(tool, wanted, self._threads)
            kind = AsyncRun if binding.signature.is_async else InlineRun if binding.inline else ThreadRun
            run = kind(binding, tool, fitted, self._threads, injection, going_on)
            return with_credentials(run, tool, self.credential_sources)
        except BindingError as error:
            raise ExecutionFailed("setup_required", str(error)) from error

    async def aclose(self) -> None:
        """Closes the injected services and ends the threads. A thread stuck in a function does not keep the program running."""
        await self._injections.aclose()
        await self._children.aclose()
        self._threads.close()

    def _binding(self, tool: Tool) -> Binding | None:
        if tool.dialect == "python":
            return self._defining.get(tool.tool_id)
        if not self._bound:
            return None
        names = (tool.tool_id, f"{tool.namespace}.{tool.name}", tool.name)
        # A binding to one version wins over one to every version.
        exact = (f"{name}@{tool.version}" for name in names if tool.version)
        return next((self._bound[name] for name in (*exact, *names) if name in self._bound), None)

    @staticmethod
    def _add(bindings: dict[str, Binding], key: str, binding: Binding) -> None:
        other = bindings.setdefault(key, binding)
        if other is not binding and other.function is not binding.function:
            raise BindingError(
                f"{other.label} and {binding.label} are both the tool {key!r}; rename or unbind one of them"
            )


def _names(binding: Binding) -> set[str]:
    """Returns the names by which settings may refer to the tool of a function."""
    if binding.tool is not None:
        return {binding.tool.tool_id, binding.tool.name}
    return {binding.binds} if binding.binds is not None else set()
