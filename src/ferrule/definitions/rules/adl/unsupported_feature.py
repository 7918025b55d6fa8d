"""Features the generator has only for some target languages."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import JsonObject, Path

_MCP: Path = ("spec", "agent", "mcp")
_TELEMETRY: Path = ("spec", "telemetry")
_PROMETHEUS: Path = (*_TELEMETRY, "metrics", "exporter", "prometheus")
_NO_SERVERS = "list the servers under `servers`, or set `enabled: false`"
_HTTP = "serve it over http, or leave it out"


class UnsupportedFeature(Rule):
    """MCP and telemetry have the form the language gives them and, once enabled, suit the target language.

    Why: MCP clients are generated for Go and reach http servers only; Rust has no telemetry, TypeScript no Prometheus.
    Bad:  mcp: {enabled: true, servers: [{name: files, transport: stdio, command: files}]}
    Good: mcp: {enabled: true, servers: [{name: files, transport: http, url: "http://localhost:8080"}]}
    """

    code = "ADL-39"
    name = "unsupported-feature"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields enabled features the target cannot have."""
        spec = subject.get("spec")
        if not isinstance(spec, dict):
            return
        language = subject.get("spec", "language")
        targets = language if isinstance(language, dict) else None
        if "agent" in spec:
            yield from self._check_mcp(subject, targets)
        if "telemetry" in spec:
            yield from self._check_telemetry(subject, targets)

    def _check_mcp(self, subject: Subject, targets: JsonObject | None) -> Iterator[Finding]:
        mcp = subject.get(*_MCP)
        if not isinstance(mcp, dict) or subject.get(*_MCP, "enabled") is not True:
            return
        if targets is not None and "go" not in targets:
            yield self._warn(_MCP, "MCP clients are generated for Go only", "target Go, or set `enabled: false`")
        servers = mcp.get("servers")
        if servers is None and "servers" not in mcp:
            yield self._warn((*_MCP, "servers"), "MCP is enabled without any servers", _NO_SERVERS)
        elif servers == []:
            yield self._warn(_MCP, "MCP is enabled without any servers", _NO_SERVERS)
        elif isinstance(servers, list):
            for index in range(len(servers)):
                path = (*_MCP, "servers", index, "transport")
                if subject.get(*path) in ("stdio", "sse"):
                    yield self._warn(path, "generated MCP clients reach http servers only", _HTTP)

    def _check_telemetry(self, subject: Subject, targets: JsonObject | None) -> Iterator[Finding]:
        if targets is None or subject.get(*_TELEMETRY, "enabled") is not True:
            return
        if "rust" in targets:
            yield self._warn(_TELEMETRY, "telemetry is not generated for Rust", "set `enabled: false`")
        if "typescript" in targets and isinstance(subject.get(*_PROMETHEUS), dict):
            message = "the Prometheus exporter is not generated for TypeScript"
            yield self._warn(_PROMETHEUS, message, "use the `otlp` exporter")

    def _warn(self, path: Path, message: str, hint: str) -> Finding:
        return Finding(self.code, path, message, self.severity, hint)
