"""Secrets of Google Secret Manager, read with the identity of this process and checked by their CRC-32C (RFC 3720)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from urllib.parse import quote

from ferrule.contracts.secrets import SecretUnavailable
from ferrule.infra.clouds.clouds import Clouds
from ferrule.infra.secrets.store_request import ask_store
from ferrule.model.credentials import SecretRef
from ferrule.model.value import JsonObject

_POLYNOMIAL = 0x82F63B78


def _entry(value: int) -> int:
    for _ in range(8):
        value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
    return value


_TABLE = tuple(map(_entry, range(256)))


def crc32c(data: bytes) -> int:
    """Returns the checksum of a few kilobytes."""
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


_ENDPOINT = "https://secretmanager.googleapis.com"
_ENDPOINT_VARIABLE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER"
"""The variable of Google's own tools."""


class GcpSource:
    """Secrets of Secret Manager; `latest` unless a version is given."""

    def __init__(self, env: Mapping[str, str], clouds: Clouds) -> None:
        self._env = env
        self._clouds = clouds

    def is_missing(self, ref: SecretRef) -> bool:
        """Returns False: only a request could tell."""
        return False

    async def fetch(self, ref: SecretRef) -> str:
        """Returns the secret's text."""
        project, secret, version = (quote(part, safe="") for part in (ref.project, ref.secret, ref.version or "latest"))
        where = (self._env.get(_ENDPOINT_VARIABLE) or _ENDPOINT).rstrip("/")
        url = f"{where}/v1/projects/{project}/secrets/{secret}/versions/{version}:access"
        gcp = self._clouds.gcp
        said = await ask_store(self._clouds.client, gcp, "Secret Manager", url, gcp.access_token(), ref.label)
        return _read_text(said, ref.label)


def _read_text(said: JsonObject, label: str) -> str:
    payload = said.get("payload")
    data = payload.get("data") if isinstance(payload, dict) else None
    if not isinstance(payload, dict) or not isinstance(data, str) or not data:
        raise SecretUnavailable(f"the secret {label!r} is empty")
    try:
        value = base64.b64decode(data, validate=True)
    except binascii.Error:
        raise SecretUnavailable(f"the secret {label!r} came damaged", is_final=False) from None
    stated = payload.get("dataCrc32c")
    if stated is not None and str(stated) != str(crc32c(value)):
        raise SecretUnavailable(f"the secret {label!r} came damaged: its checksum is another", is_final=False)
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise SecretUnavailable(f"the secret {label!r} is stored as bytes that are no text") from None
