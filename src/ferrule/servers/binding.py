"""Checks before a server listens: settings that would let strangers in, or that cannot work, are refused.

`ferrule serve` and `ferrule doctor` stand above it. It opens no socket.
"""

from __future__ import annotations

from ferrule.access.tokens import FOREIGN
from ferrule.infra.network.urls import BadUrl, Target, is_loopback, parse_url
from ferrule.model.approval import SCOPES
from ferrule.model.hints import nearest
from ferrule.model.serving import JwtSettings, ServeSettings
from ferrule.servers.auth.callers import LOCAL, SIGNED
from ferrule.servers.auth.hosts import find_host_problem, find_origin_problem

_ADVICE = "leave auth on (and none out of auth of [serve.oxp])"
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Asymmetric algorithms only: with these, a server that verifies tokens cannot sign any."""


def find_bind_problem(settings: ServeSettings, *, is_danger_accepted: bool = False) -> str | None:
    """Returns why a server must not start with these settings; None when it may.

    `is_danger_accepted`: the operator asked for an open public server in so many words.
    """
    if _is_open(settings) and not is_danger_accepted:
        if not is_loopback(settings.host):
            return (
                f"without authentication everybody who reaches {settings.host or 'this machine'} could call every tool; listen on"
                f" 127.0.0.1, or {_ADVICE}, or say --dangerously-open"
            )
        if settings.public_url:
            return (
                f"public_url says that others come here by {settings.public_url}, and without authentication they could call"
                f" every tool; {_ADVICE}, or say --dangerously-open"
            )
    return _find_address_problem(settings) or _find_issuers_problem(settings)


def list_bind_warnings(settings: ServeSettings) -> list[str]:
    """Returns warnings for the operator who starts the server."""
    warnings = []
    is_public = not is_loopback(settings.host)
    if _is_open(settings) and (is_public or settings.public_url):
        warnings.append("everybody who reaches this server can call every tool: authentication is off")
    if settings.public_url.lower().startswith("http://") and not _is_local(parse_url(settings.public_url)):
        warnings.append("public_url is plain HTTP: credentials and results can be read on their way")
    elif is_public and not settings.public_url:
        warnings.append(
            "this address is served over plain HTTP: put a proxy with TLS in front and name it in public_url, or keep it to a"
            " network you trust"
        )
    return warnings


def _is_open(settings: ServeSettings) -> bool:
    """True when one of the servers takes callers without a credential."""
    return not settings.auth or "none" in settings.oxp.auth


def _find_address_problem(settings: ServeSettings) -> str | None:
    if settings.public_url:
        try:
            if "?" in parse_url(settings.public_url).path or "#" in settings.public_url:
                return "public_url has a query or a fragment; leave that out"
        except BadUrl as error:
            return f"public_url cannot be used: {error}"
    problems = (*map(find_host_problem, settings.hosts), *map(find_origin_problem, settings.origins))
    return next(filter(None, problems), None)


def _find_issuers_problem(settings: ServeSettings) -> str | None:
    names: dict[str, str] = {}
    for issuer in settings.issuers:
        problem = _find_issuer_problem(issuer)
        if problem is not None:
            return f"[serve.jwt] {issuer.issuer}: {problem}"
        for name in {issuer.name or issuer.issuer, issuer.issuer}:
            if name in names:
                return f"[serve.jwt] has {name!r} twice; people of two issuers could not be told apart"
            names[name] = issuer.issuer
    # A token's audience is this server's address. Behind a wildcard the address comes from the Host header, which a
    # client chooses.
    is_unsure = not is_loopback(settings.host) or any(name.startswith("*") for name in settings.hosts)
    if settings.issuers and not settings.public_url and is_unsure:
        return "access tokens are made for one address; say it in public_url"
    return None


def _find_issuer_problem(issuer: JwtSettings) -> str | None:
    for name, url in (("issuer", issuer.issuer), ("jwks_url", issuer.jwks_url)):
        try:
            target = parse_url(url) if url or name == "issuer" else None
        except BadUrl as error:
            return f"{name} cannot be used: {error}"
        if target is not None and not target.is_secure and not _is_local(target):
            return f"{name} must be an https address; plain http is for this machine alone"
    for algorithm in issuer.algorithms:
        if algorithm not in ALGORITHMS:
            return f"the algorithm {algorithm!r} is not taken; write some of {', '.join(ALGORITHMS)}"
    if not issuer.algorithms:
        return "algorithms is empty, so no token could count"
    for name in (issuer.name, issuer.issuer):
        if FOREIGN in name or not name.isprintable() or name != name.strip():
            return f"{name!r} is no name for an issuer; write it without {FOREIGN} and odd spaces"
    if issuer.name in (LOCAL, SIGNED):
        return f"its name cannot be {issuer.name!r}: that is what keys and signed tokens of this workspace are"
    for ours in issuer.scopes.values():
        if ours not in SCOPES:
            return f"scopes means {ours!r}; {nearest(ours, SCOPES) or 'write ' + ', '.join(SCOPES)}"
    return None


def _is_local(target: Target) -> bool:
    return is_loopback(target.host)
