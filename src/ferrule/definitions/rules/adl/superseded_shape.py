"""Shapes of earlier ADL manifests."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import Path, format_path

MOVED_ROOTS: dict[Path, str] = {
    ("spec", "sandbox"): "move it to `spec.development.sandbox`",
    ("spec", "ai"): "move it to `spec.development.ai`",
}
"""Blocks that moved, and what to do."""
AI: Path = ("spec", "development", "ai")
ASSISTANTS = ("claudecode", "codex", "gemini", "opencode", "infer")
_MOVED_IN_AI = {
    "enabled": "remove it and enable each assistant under `spec.development.ai.orchestrators`",
    **{name: f"move it to `spec.development.ai.orchestrators.{name}`" for name in ASSISTANTS},
}


class SupersededShape(Rule):
    """A block or key of an earlier shape of the language, which newer readers reject.

    Why: sandboxes and coding assistants moved under `spec.development`, and assistants under `orchestrators`.
    Bad:  spec: {sandbox: {flox: {enabled: true}}}
    Good: spec: {development: {sandbox: {flox: {enabled: true}}}}
    """

    code = "ADL-6"
    name = "superseded-shape"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields each old key that is still written."""
        spec = subject.get("spec")
        if not isinstance(spec, dict):
            return
        for path, hint in MOVED_ROOTS.items():
            if path[-1] in spec:
                yield self._report(path, hint)
        assistants = subject.get(*AI) if "development" in spec else None
        if isinstance(assistants, dict):
            for key in assistants:
                if key in _MOVED_IN_AI:
                    yield self._report((*AI, key), _MOVED_IN_AI[key])

    def _report(self, path: Path, hint: str) -> Finding:
        return Finding(self.code, path, f"`{format_path(path)}` is a superseded shape", hint=hint, on_key=True)
