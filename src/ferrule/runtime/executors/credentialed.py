"""Functions bound to OXP tools that require something: secrets and tokens are fetched before the function runs, and only the
ones its definition names are handed over, as `context.credentials[id]` (OXP-38 to OXP-42). What is missing refuses the call.

A token that the caller brought with the call is used instead of one that the user authorized here; a secret that the caller
brought, only where the workspace binds none.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ferrule.contracts.credentials import UserTokens, Vault
from ferrule.contracts.executor import Context, ExecutionFailed, Output, Waiting
from ferrule.model.credentials import Credentials, SecretRef
from ferrule.model.requirements import Requirements, read_requirements
from ferrule.model.tool import Tool
from ferrule.runtime.functions.running import FunctionRun

if TYPE_CHECKING:
    from ferrule.runtime.executors.surroundings import Surroundings


class Delegation(msgspec.Struct, frozen=True, kw_only=True):
    """Where what tools require comes from."""

    vault: Vault
    bindings: Mapping[str, SecretRef] = {}
    """`[secrets.bindings]`: where secrets are, by the ids that tools use."""
    users: UserTokens | None = None
    """Tokens that users authorized."""


def delegation_of(around: Surroundings) -> Delegation:
    """What functions are given of what transports are given."""
    return Delegation(vault=around.vault, bindings=around.bindings, users=around.users)


def credentialed(
    run: FunctionRun, tool: Tool, delegation: Callable[[], Delegation] | None
) -> FunctionRun | CredentialedRun:
    """The runner with what its tool requires; the very runner given when it requires nothing."""
    if delegation is None or tool.credentials is None or tool.dialect != "oxp":
        return run
    required = read_requirements(msgspec.json.decode(tool.credentials))
    return CredentialedRun(run, tool, required, delegation()) if required.is_anything else run


def demand_authorized(name: str, required: Requirements, users: UserTokens | None, context: Context) -> None:
    """Raises ExecutionFailed when the user has not authorized what a tool requires. They are not sent anywhere."""
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
    """A function's runner, with credentials before it."""

    wants_context = True

    def __init__(self, run: FunctionRun, tool: Tool, required: Requirements, delegation: Delegation) -> None:
        both = required.secrets & required.authorization.keys()
        if both:
            raise ExecutionFailed(
                "setup_required",
                f"tool {tool.tool_id!r} names {min(both)!r} as a secret and as an authorization; rename one",
            )
        self._run = run
        self._name = tool.tool_id
        self._required = required
        self._given = delegation
        self.preflight = run.preflight
        self.support = msgspec.structs.replace(run.support, credential_delegation=True)

    async def __call__(self, arguments: dict[str, Any], context: Context) -> Any:
        """What the function returned. Raises ExecutionFailed before it runs when something is missing."""
        context.credentials = await self._credentials(context)
        output = self._run(arguments, context)
        return await output if inspect.isawaitable(output) else output

    async def resume(self, state: bytes, answer: Any, context: Context) -> Output | Waiting:
        """Go on with the answer, and with fresh credentials."""
        context.credentials = await self._credentials(context)
        return await self._run.resume(state, answer, context)

    async def probe(self, context: Context) -> str:
        """Whether everything it requires is there. The function is not called, and no user is sent anywhere."""
        for ref in self._refs({}).values():
            await self._given.vault.secret(ref, context)
        demand_authorized(self._name, self._required, self._given.users, context)
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
        bound = {name: await self._given.vault.secret(ref, context) for name, ref in refs.items()}
        brought = {name: context.handed[name] for name in self._required.secrets - bound.keys()}
        return {**brought, **bound, **tokens}

    def _refs(self, brought: Mapping[str, str]) -> dict[str, SecretRef]:
        """Where those of its secrets are that nobody brought. All that is known to be missing is told at once, before anybody
        is asked."""
        wanted = sorted(name for name in self._required.secrets if name not in brought or self._is_bound(name))
        unbound = [name for name in wanted if name not in self._given.bindings]
        if unbound:
            raise ExecutionFailed(
                "credential_missing",
                f"tool {self._name!r} needs {', '.join(map(repr, unbound))}; say where that is in [secrets.bindings]",
                code="secret_unbound",
            )
        refs = {name: self._given.bindings[name] for name in wanted}
        unset = [label for ref in refs.values() for label in self._given.vault.missing(Credentials(ref=ref))]
        if unset:
            raise ExecutionFailed(
                "credential_missing",
                f"tool {self._name!r} needs {', '.join(map(repr, unset))}, which is not set; set it",
                code="secret_unavailable",
            )
        return refs

    def _is_bound(self, name: str) -> bool:
        """True when the workspace has a secret, as far as is known without asking."""
        ref = self._given.bindings.get(name)
        return ref is not None and not self._given.vault.missing(Credentials(ref=ref))

    async def _tokens(self, context: Context) -> dict[str, str]:
        required = self._required.authorization
        brought = {name: context.handed[name] for name in required if name in context.handed}
        wanted = {name: scopes for name, scopes in required.items() if name not in brought}
        if not wanted:
            return brought
        if self._given.users is None:
            raise ExecutionFailed(
                "credential_missing",
                f"tool {self._name!r} needs an authorization of {context.principal!r}, which cannot be given here",
                code="authorization_required",
            )
        return {**brought, **await self._given.users.tokens(wanted, context.principal, tenant=context.tenant)}
