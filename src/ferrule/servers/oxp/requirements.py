"""Requirements of a tool, checked before a call's input: tokens, secrets, a user (OXP-37 to OXP-42).

A token arrives with the call, or the user authorized one here. A secret is the workspace's own where it binds one, and
arrives with the call otherwise. All that is missing is reported at once. Values go to the tool, and nowhere else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from ferrule.app.app import App
from ferrule.contracts.executor import ExecutionFailed
from ferrule.errors import SettingsError
from ferrule.model.credentials import NO_CALL_SECRETS, CallSecrets, Requirements
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.servers.auth.callers import Caller
from ferrule.servers.oxp.definitions import read_tool_requirements
from ferrule.servers.oxp.wire import CallContext, OxpBadRequest

_log = logging.getLogger("ferrule.oxp")


async def collect_credentials(
    app: App, tool: Tool, caller: Caller, context: CallContext, check_url: Callable[[str], str]
) -> CallSecrets:
    """Returns the credentials that the call brings for its tool, and none that the tool does not require.

    `caller`: on whose behalf. `check_url`: the address of an authorization's status. Raises BadRequest.
    """
    required = read_tool_requirements(tool)
    if not required.is_anything:
        return NO_CALL_SECRETS
    tokens = {one.id: one.token for one in context.authorization if one.token}
    secrets = {one.id: one.value for one in context.secrets if one.value}
    unbound = _find_unbound_secrets(app, tool, required)
    lacking = [provider for provider in required.authorization if provider not in tokens]
    unauthorized = [one for one in lacking if not _has_token(app, one, required.authorization[one], caller)]
    missing: JsonObject = {}
    challenges = {
        provider: await _start_authorization(app, provider, required.authorization[provider], caller, check_url)
        for provider in unauthorized
    }
    if known := [challenge for challenge in challenges.values() if challenge is not None]:
        missing["authorization"] = known
    if unknown := [provider for provider, challenge in challenges.items() if challenge is None]:
        missing["tokens"] = unknown  # a challenge needs a URL (OXP-41), and none is known for these
    if absent := sorted(unbound - secrets.keys()):
        missing["secrets"] = absent
    if required.user_id and not context.user_id:
        missing["user_id"] = True
    if missing:
        raise OxpBadRequest(
            _explain_missing(tool, unauthorized, absent, is_anonymous="user_id" in missing),
            missing_requirements=missing,
        )
    brought = {name: tokens[name] for name in required.authorization if name in tokens}
    return CallSecrets(brought | {name: secrets[name] for name in sorted(unbound)})


def list_open_requirements(app: App, tool: Tool, written: JsonObject | None) -> JsonObject | None:
    """Returns the requirements that callers have to meet: those written, without secrets that the workspace binds. None
    when nothing is left.
    """
    required = read_tool_requirements(tool)
    if written is None or not required.secrets:
        return written
    bound = required.secrets - _find_unbound_secrets(app, tool, required)
    left = [one for one in written["secrets"] if not isinstance(one, dict) or one.get("id") not in bound]
    others = {name: value for name, value in written.items() if name != "secrets"}
    return {**others, **({"secrets": left} if left else {})} or None


def _find_unbound_secrets(app: App, tool: Tool, required: Requirements) -> frozenset[str]:
    """Returns the secrets that the workspace does not bind, so that they have to arrive with the call."""
    if not required.secrets or app.readiness is None:
        return required.secrets
    return required.secrets & frozenset(app.readiness.missing_credentials(tool, sorted(required.secrets)))


def _has_token(app: App, provider: str, scopes: Iterable[str], caller: Caller) -> bool:
    """Returns True when the user has already authorized it here; asks nobody."""
    try:
        return not app.user_tokens.problem(provider, caller.identity.principal, tuple(scopes), tenant=caller.tenant)
    except (ExecutionFailed, SettingsError):
        return False


async def _start_authorization(
    app: App, provider: str, scopes: Iterable[str], caller: Caller, check_url: Callable[[str], str]
) -> JsonObject | None:
    """Starts an authorization and returns where to send the user; None where no client is configured for the provider."""
    try:
        begun = await app.authorizations.begin(provider, caller.identity.principal, tuple(scopes), tenant=caller.tenant)
    except (ExecutionFailed, SettingsError) as problem:
        _log.info("no authorization at %r can be begun: %s", provider, problem)
        return None
    return {**begun.to_record(), "check_url": check_url(begun.state)}


def _explain_missing(tool: Tool, providers: list[str], secrets: list[str], *, is_anonymous: bool) -> str:
    wanted = []
    if providers:
        wanted.append(f"an authorization of {', '.join(providers)} (context.authorization)")
    if secrets:
        wanted.append(f"{', '.join(secrets)} (context.secrets)")
    if is_anonymous:
        wanted.append("the user's id (context.user_id)")
    return f"the tool {tool.name!r} needs {' and '.join(wanted)}"
