"""Connections of a process to other systems, made from settings: network, secrets, credentials. Opens nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from ferrule.contracts.credentials import Vault
from ferrule.contracts.executor import Executor
from ferrule.contracts.redactor import Redactor
from ferrule.contracts.registry import Registry
from ferrule.contracts.secrets import SecretSource
from ferrule.infra.clouds.clouds import Clouds
from ferrule.infra.credentials.broker import TokenBroker
from ferrule.infra.credentials.oauth import FOLDER, Authorizations
from ferrule.infra.credentials.oauth_tokens import OAuthUserTokens
from ferrule.infra.credentials.sealed import KEY_FILE, make_key_loader
from ferrule.infra.credentials.vault import CachedVault
from ferrule.infra.network.client import Client
from ferrule.infra.secrets.builtin import SOURCES
from ferrule.infra.secrets.env import EnvFile
from ferrule.model.credentials import BadCredentials, Credentials, Requirements, read_credentials, read_requirements
from ferrule.model.timestamps import MICROSECONDS
from ferrule.model.tool import Tool
from ferrule.runtime.approval.key import ApprovalKey, make_callback_token
from ferrule.runtime.executors.transport_services import TransportServices
from ferrule.runtime.pipeline.inputs import redact_input
from ferrule.runtime.redaction.sensitive_input import Mask
from ferrule.settings import Settings, make_upstreams

_sources: Registry[Callable[[Mapping[str, str], Clouds], SecretSource]] = Registry("source of secrets", SOURCES)


def make_transport_services(
    client: Client,
    settings: Settings,
    env: Mapping[str, str],
    root: Path,
    learn: Callable[[str, str], None],
    *,
    tick: Callable[[], float],
    now: Callable[[], int],
    key: ApprovalKey | None = None,
    redactor: Redactor | None = None,
) -> TransportServices:
    """Makes the services that transports use. `learn` tells the redactor a secret; `tick` gives seconds and never goes back,
    `now` microseconds since 1970."""
    secret_env = EnvFile(env, root / settings.secrets.env_file) if settings.secrets.env_file else env
    clouds = Clouds(client, secret_env, learn, lambda: now() / MICROSECONDS)
    made: dict[str, SecretSource] = {}

    def source_of(name: str) -> SecretSource:
        if name not in made:
            made[name] = _sources.get(name)(secret_env, clouds)
        return made[name]

    broker = TokenBroker(clouds, learn, tick)
    vault = CachedVault(source_of, learn, tick, cache_seconds=settings.secrets.cache_seconds, broker=broker)
    return TransportServices(
        client=client,
        guard=client.guard,
        vault=vault,
        clouds=clouds,
        env=secret_env,
        root=root,
        upstreams=make_upstreams(settings),
        learn_secret=learn,
        now=lambda: now() / MICROSECONDS,
        redact_arguments=partial(_redact_arguments, redactor=redactor),
        redact_bytes=partial(_redact_bytes, redactor=redactor),
        issue_callback=partial(make_callback_token, key) if key is not None else lambda invocation_id, expires_at: "",
    )


class Connections(msgspec.Struct, frozen=True):
    """The services of transports, and the authorizations of users."""

    transport_services: TransportServices
    authorizations: Authorizations
    user_tokens: OAuthUserTokens
    settings: Settings

    def missing_secrets(self, tool: Tool, others: Iterable[Executor]) -> Collection[str]:
        """Returns the secrets and authorizations of a tool that are known to be missing, without asking any source."""
        return find_missing_secrets(tool, self.transport_services.vault, self.settings, others)


def make_connections(
    client: Client,
    settings: Settings,
    env: Mapping[str, str],
    root: Path,
    learn: Callable[[str, str], None],
    *,
    tick: Callable[[], float],
    now: Callable[[], int],
    key: ApprovalKey,
    redactor: Redactor,
) -> Connections:
    """Makes the services of transports, with the authorizations of users. Opens nothing."""
    around = make_transport_services(client, settings, env, root, learn, tick=tick, now=now, key=key, redactor=redactor)
    authorizations = make_authorizations(settings, around, tick=tick)
    tokens = OAuthUserTokens(authorizations, around.learn_secret)
    # Authorizations are made with these services, and tools need both.
    around = msgspec.structs.replace(around, users=tokens, bindings=settings.secrets.bindings)
    return Connections(around, authorizations, tokens, settings)


def make_authorizations(settings: Settings, around: TransportServices, *, tick: Callable[[], float]) -> Authorizations:
    """Makes the authorizations of a workspace's users. Reads nothing before the first is asked for."""
    return Authorizations(
        settings.oauth,
        around.root / FOLDER,
        make_key_loader(around.root / KEY_FILE),
        around.client,
        around.vault,
        around.learn_secret,
        tick=tick,
        now=around.now,
    )


def _redact_arguments(tool: Tool, arguments: object, *, redactor: Redactor | None) -> Any:
    return msgspec.json.decode(redact_input(msgspec.json.encode(arguments), Mask.of(tool), redactor))


def _redact_bytes(data: bytes, *, redactor: Redactor | None) -> bytes:
    if redactor is None or redactor.is_idle:
        return data
    stream = redactor.stream()
    return stream.feed(data) + stream.finish()


def find_missing_secrets(tool: Tool, vault: Vault, settings: Settings, others: Iterable[Executor]) -> Collection[str]:
    """Returns the secrets and authorizations of a tool that are known to be missing, without asking any source.

    `others`: executors asked before ours, which bring what their tools need.
    """
    if tool.credentials is None or any(executor.can_run(tool) for executor in others):
        return ()
    written = msgspec.json.decode(tool.credentials)
    match tool.dialect:
        case "aml" | "mcp":
            try:
                return vault.missing(read_credentials(written))
            except BadCredentials:
                return ("?",)
        case "oxp" | "oxp_server":
            return _find_unmet(read_requirements(written), vault, settings)
        case _:
            return ()


def _find_unmet(required: Requirements, vault: Vault, settings: Settings) -> list[str]:
    """Returns the secrets without a value, and the providers that the settings lack."""
    # Whether a user has authorized the tool is asked at each call, which can then tell them where to do so.
    bindings = settings.secrets.bindings
    missing = [
        name
        for name in sorted(required.secrets)
        if name not in bindings or vault.missing(Credentials(ref=bindings[name]))
    ]
    return missing + [provider for provider in required.authorization if provider not in settings.oauth]
