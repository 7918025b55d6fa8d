"""Function ids that do not fit their provider."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ferrule.contracts.expect import show
from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.aml.transport import read_transport
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import Path


class _Shape(NamedTuple):
    pattern: re.Pattern[str]
    meaning: str


_SHAPES = {
    "aws": _Shape(re.compile(r"arn:aws:lambda:.*"), "an ARN that begins with `arn:aws:lambda:`"),
    "gcp": _Shape(re.compile(r"projects/.+/functions/.+"), "a resource name such as `projects/…/functions/…`"),
    "azure": _Shape(
        re.compile(r"/subscriptions/.+|(?i:https?)://[^\s/?#]\S*"),
        "a resource path `/subscriptions/…` or a function URL",
    ),
}
_ACCOUNT = re.compile(r"arn:aws:lambda:[^:]*:[0-9]{12}(?::.*)?")


class MisshapenFunctionId(Rule):
    """`function_id` names a function in the way its provider does.

    Why: the runtime hands it to the provider as it stands.
    Bad:  {provider: gcp, function_id: "arn:aws:lambda:…"}
    Good: {provider: gcp, function_id: projects/shop/locations/europe-west1/functions/send}
    """

    code = "AML-48"
    name = "misshapen-function-id"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at the function id of a lambda transport, or of a token broker (under AML-61)."""
        transport = read_transport(subject)
        if transport.kind == "lambda":
            yield from _check_block(subject, ("transport",), self.code)
        if transport.scheme == "oauth2":
            yield from _check_block(subject, ("transport", "credentials"), "AML-61")


def _check_block(subject: Subject, block: Path, code: str) -> Iterator[Finding]:
    provider, function_id = subject.get(*block, "provider"), subject.get(*block, "function_id")
    shape = _SHAPES.get(provider) if isinstance(provider, str) else None
    if shape is None or not isinstance(function_id, str):
        return
    at = (*block, "function_id")
    if not shape.pattern.fullmatch(function_id):
        yield Finding(code, at, f"`function_id` must be {shape.meaning}, not {show(function_id)}")
    elif provider == "aws" and not _ACCOUNT.fullmatch(function_id):
        message = "the account in the ARN does not have 12 digits"
        yield Finding(code, at, message, Severity.WARNING, "check the ARN; an account in AWS has 12 digits")
