"""Credentials written out where a placeholder belongs."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.model.credentials import is_literal_secret
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import Path

_CONFIG: Path = ("spec", "config")
_SERVERS: Path = ("spec", "agent", "mcp", "servers")
_DEPLOYMENT: Path = ("spec", "deployment")


class LiteralSecret(Rule):
    """A credential in `config`, an MCP server's `env` or `headers`, or a deployment's `environment` is a `${VAR}` placeholder.

    Why: a manifest is checked in and shared; whoever reads it would hold the key.
    Bad:  emailApiKey: "8d5e957f"
    Good: emailApiKey: ${EMAIL_API_KEY}
    """

    code = "ADL-37"
    name = "literal-secret"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields each string that looks like a credential."""
        spec = subject.value.get("spec")
        if not isinstance(spec, dict):
            return
        config = spec.get("config")
        if isinstance(config, dict):
            for group, settings in config.items():
                if group != "tools":
                    yield from self._search(settings, (*_CONFIG, group))
        servers = subject.get(*_SERVERS) if "agent" in spec else None
        if isinstance(servers, list):
            for index, server in enumerate(servers):
                if isinstance(server, dict):
                    for block in ("env", "headers"):
                        yield from self._search(server.get(block), (*_SERVERS, index, block))
        deployment = spec.get("deployment")
        if isinstance(deployment, dict):
            for platform, settings in deployment.items():
                if isinstance(settings, dict):
                    yield from self._search(settings.get("environment"), (*_DEPLOYMENT, platform, "environment"))

    def _search(self, value: object, path: Path) -> Iterator[Finding]:
        if isinstance(value, dict):
            for key, member in value.items():
                if isinstance(member, str):
                    if is_literal_secret(key, member):
                        yield self._report((*path, key))
                else:
                    yield from self._search(member, (*path, key))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, str):
                    if is_literal_secret("", item):
                        yield self._report((*path, index))
                else:
                    yield from self._search(item, (*path, index))

    def _report(self, path: Path) -> Finding:
        message = f"`{path[-1]}` looks like a credential written out"
        return Finding(self.code, path, message, self.severity, "write a placeholder such as `${VAR}`")
