"""Keys of earlier AML versions."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.aml.fields import SUPERSEDED_ROOT_KEYS
from ferrule.definitions.rules.aml.secret_reference import advise
from ferrule.definitions.rules.aml.transport import read_transport
from ferrule.definitions.rules.aml.transport_fields import SECRET_SCHEMES
from ferrule.model.diagnostic import Finding, Severity

_BROKER = (
    "name the function that fetches the token instead: `provider: aws`, gcp or azure, and its `function_id`; "
    "then remove this"
)
OAUTH2_KEYS = ("token_url", "client_id", "client_secret", "grant_type")
"""Keys that a token broker has replaced."""
_WARNING = Severity.WARNING


class SupersededKey(Rule):
    """Keys of earlier AML versions have moved; what is inside them is not read.

    Why: a file that looks complete would be compiled without these parts.
    Bad:  parameters: {type: object}
    Good: interface: {input: {type: object}, output: {type: object}}
    """

    code = "AML-16"
    name = "superseded-key"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields one finding per old key, saying where its content belongs now."""
        for key, hint in SUPERSEDED_ROOT_KEYS.items():
            if key in subject.value:
                yield _report((key,), hint)
        block, kind, credentials, scheme = read_transport(subject)
        if kind is not None:
            if "auth" in block:
                yield _report(("transport", "auth"), _advise_auth(block["auth"]))
            if "function_arn" in block and kind == "lambda":
                hint = "write `provider: aws` and give the ARN as `function_id`"
                yield _report(("transport", "function_arn"), hint)
        if "token_source" in credentials and (scheme == "oauth2" or scheme in SECRET_SCHEMES):
            yield _report(("transport", "credentials", "token_source"), advise(credentials["token_source"]))
        if scheme == "oauth2":
            for key in OAUTH2_KEYS:
                if key in credentials:
                    yield _report(("transport", "credentials", key), _BROKER)


def _advise_auth(auth: object) -> str:
    if not isinstance(auth, dict):
        return "write `credentials` with a `scheme` and the source of the secret"
    if auth.get("scheme") == "oauth2" and not {"provider", "function_id"} <= auth.keys():
        return (
            "rename it to `credentials` and name the function that fetches the token: `provider: aws`, gcp or azure, and "
            "its `function_id`, in place of the token address and the client"
        )
    if "token_source" in auth:
        return f"rename it to `credentials`; in place of `token_source` {advise(auth['token_source'])}"
    return "rename it to `credentials` and name the source of the secret"


def _report(path: tuple[str, ...], hint: str) -> Finding:
    return Finding(
        SupersededKey.code, path, f"`{path[-1]}` is a key of an earlier AML version", _WARNING, hint, on_key=True
    )
