"""Secrets of AWS Secrets Manager, read with the identity of this process."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.contracts.secrets import SecretUnavailable
from ferrule.infra.clouds.api_request import read_json_object
from ferrule.infra.clouds.aws import make_aws_failure
from ferrule.infra.clouds.clouds import Clouds
from ferrule.infra.secrets.store_request import TIMEOUT_SECONDS, translate_failure
from ferrule.model.credentials import SecretRef

_HEADERS = (
    ("Content-Type", "application/x-amz-json-1.1"),
    ("X-Amz-Target", "secretsmanager.GetSecretValue"),
)


class AwsSource:
    """Secrets by `secret_id`, a name or an ARN; in the region given, that of the ARN, or the process's own."""

    def __init__(self, env: Mapping[str, str], clouds: Clouds) -> None:
        self._aws = clouds.aws

    def is_missing(self, ref: SecretRef) -> bool:
        """Returns False: only a request could tell."""
        return False

    async def fetch(self, ref: SecretRef) -> str:
        """Returns the secret's text; one stored as bytes must be text, too."""
        asked = {"SecretId": ref.secret_id}
        if ref.version_stage:
            asked["VersionStage"] = ref.version_stage
        if ref.version:
            asked["VersionId"] = ref.version
        try:
            fetched = await self._aws.request(
                "secretsmanager",
                region=ref.region or _find_region(ref.secret_id),
                headers=_HEADERS,
                body=msgspec.json.encode(asked),
                timeout_seconds=TIMEOUT_SECONDS,
            )
        except ExecutionFailed as failure:
            raise translate_failure(ref.label, failure) from None
        if fetched.status != 200:
            answered = make_aws_failure("Secrets Manager", fetched)
            if answered.code == "credential_refused":
                self._aws.forget()
            raise translate_failure(ref.label, answered)
        return _read_text(read_json_object(fetched.body), ref.label)


def _find_region(secret_id: str) -> str | None:
    parts = secret_id.split(":", 6)
    return parts[3] if len(parts) == 7 and parts[0] == "arn" else None


def _read_text(said: dict[str, object], label: str) -> str:
    text, data = said.get("SecretString"), said.get("SecretBinary")
    if isinstance(text, str) and text:
        return text
    if isinstance(data, str):
        try:
            return base64.b64decode(data, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise SecretUnavailable(f"the secret {label!r} is stored as bytes that are no text") from None
    raise SecretUnavailable(f"the secret {label!r} is empty")
