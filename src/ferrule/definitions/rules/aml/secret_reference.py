"""Converts secret references of earlier AML versions (`env:NAME`, `secrets:path`) into the fields of today."""

from __future__ import annotations

import re

_ENVIRONMENT = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")
_AWS = re.compile(r"arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+")
_GCP = re.compile(r"projects/([A-Za-z0-9:._-]+)/secrets/([A-Za-z0-9_-]+)(?:/versions/([a-z0-9]+))?")
_AZURE = re.compile(
    r"(https://[a-z0-9-]+\.vault\.(?:azure\.net|azure\.cn|usgovcloudapi\.net))/secrets/([A-Za-z0-9-]+)/?"
)
_PATH = re.compile(r"secrets:([A-Za-z0-9/_+=.@-]{1,80})")


def parse_reference(reference: object) -> dict[str, str] | None:
    """Returns the source and its fields; None when the reference does not name the manager that keeps the secret."""
    if not isinstance(reference, str):
        return None
    if match := _ENVIRONMENT.fullmatch(reference):
        return {"source": "env", "name": match[1]}
    if not reference.startswith("secrets:"):
        return None
    address = reference.removeprefix("secrets:")
    if _AWS.fullmatch(address):
        return {"source": "aws_secrets_manager", "secret_id": address}
    if match := _GCP.fullmatch(address):
        version = {"version": match[3]} if match[3] else {}
        return {"source": "gcp_secret_manager", "project": match[1], "secret": match[2]} | version
    if match := _AZURE.fullmatch(address):
        return {"source": "azure_key_vault", "vault_url": match[1], "secret_name": match[2]}
    return None


def advise(reference: object) -> str:
    """Returns a hint with the fields to write in place of the reference."""
    fields = parse_reference(reference)
    if fields is not None:
        return "write " + ", ".join(f"`{key}: {value}`" for key, value in fields.items())
    match = _PATH.fullmatch(reference) if isinstance(reference, str) else None
    if match is None:
        return "write `source` and its fields, such as `source: env` and `name: …`"
    return (
        f"say which manager keeps it: `source: aws_secrets_manager` and `secret_id: {match[1]}`; or `gcp_secret_manager` "
        "with `project` and `secret`; or `azure_key_vault` with `vault_url` and `secret_name`; or `env` with `name`"
    )
