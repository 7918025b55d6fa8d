"""How many target languages a manifest names."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.model.diagnostic import Finding, Severity

TARGETS = ("go", "typescript", "rust")
_LANGUAGE = ("spec", "language")


class MalformedLanguage(Rule):
    """`language` names at least one of go, typescript and rust, each with its module or package and its versions as text.

    Why: code is generated for exactly one language; several are legal in the manifest, so they are only a warning here.
    Bad:  language: {go: {module: example.com/a, version: 1.26}}
    Good: language: {go: {module: example.com/a, version: "1.26"}}
    """

    code = "ADL-5"
    name = "malformed-language"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields one finding when no known language is named, or more than one."""
        language = subject.get(*_LANGUAGE)
        if not isinstance(language, dict):
            return
        written = [name for name in TARGETS if name in language]
        if not written:
            message = "`spec.language` names none of go, typescript and rust"
            hint = "code is generated for these three: choose one"
            yield Finding(self.code, _LANGUAGE, message, hint=hint)
        elif len(written) > 1 and sum(not subject.is_reported((*_LANGUAGE, name)) for name in written) > 1:
            message = f"`spec.language` names {' and '.join(written)}; code can be generated for one language only"
            yield Finding(self.code, _LANGUAGE, message, Severity.WARNING, "keep the one to generate")
