"""Secrets of all kinds, every way to write them, and redactors that know them."""

from __future__ import annotations

import base64
import html
import json
import random
import re
import string
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import msgspec

from ferrule.model.persistence import RedactionSettings
from ferrule.runtime.redaction.redactor import KnownSecrets

ALPHABET = string.ascii_letters + string.digits + "\"'\\/ +&<>=%?#\n\téßλ😀-_.~:;!"
PROSE = "The parcel of order 4711 left Bern on 2026-03-01 and will be there soon; ask again. "


def plain(**secrets: str) -> KnownSecrets:
    """A redactor that knows these secrets and no shapes."""
    return KnownSecrets(RedactionSettings(secrets_env=tuple(secrets), well_known=False), secrets)


def canaries(count: int = 200) -> dict[str, str]:
    """Secrets of all kinds, always the same ones."""
    dice = random.Random(20260301)
    found: dict[str, str] = {}
    for number in range(count):
        length = dice.randint(8, 40)
        kind = number % 4
        letters = (ALPHABET, string.hexdigits.lower(), string.digits, string.ascii_letters + string.digits)[kind]
        value = "".join(dice.choice(letters) for _ in range(length)).strip()
        found[f"CANARY_{number}"] = value if len(value) >= 8 else value + "Zq4xVt9w"
    return found


CANARIES = canaries()
KNOWN = plain(**CANARIES)


ENCODINGS: dict[str, Callable[[str], str]] = {
    "raw": lambda secret: secret,
    "json": lambda secret: json.dumps(secret),
    "json utf-8": lambda secret: json.dumps(secret, ensure_ascii=False),
    "json msgspec": lambda secret: msgspec.json.encode(secret).decode(),
    "json with slashes": lambda secret: json.dumps(secret).replace("/", "\\/"),
    "json in json": lambda secret: json.dumps({"body": json.dumps({"token": secret})}),
    "json, every character escaped": lambda secret: "".join(
        f"\\u{int.from_bytes(secret.encode('utf-16-be')[at : at + 2]):04x}"
        for at in range(0, len(secret.encode("utf-16-be")), 2)
    ),
    "percent": lambda secret: quote(secret, safe=""),
    "percent, path": lambda secret: quote(secret),
    "percent, lower": lambda secret: re.sub("%..", lambda found: found[0].lower(), quote(secret, safe="")),
    "form": lambda secret: quote_plus(secret),
    "percent, every byte": lambda secret: "".join(f"%{byte:02X}" for byte in secret.encode()),
    "percent twice": lambda secret: quote(quote(secret, safe=""), safe=""),
    "base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "base64 url": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode(),
    "base64 without padding": lambda secret: base64.b64encode(secret.encode()).decode().rstrip("="),
    "basic": lambda secret: "Basic " + base64.b64encode(f"ada:{secret}".encode()).decode(),
    "base64 of json": lambda secret: base64.b64encode(json.dumps({"a": 1, "token": secret}).encode()).decode(),
    "base64, after one byte": lambda secret: base64.b64encode(f"x{secret}yz".encode()).decode(),
    "base64, after two bytes": lambda secret: base64.urlsafe_b64encode(f"xy{secret}z".encode()).decode(),
    "base64, wrapped": lambda secret: base64.encodebytes(f"{'x' * 61}{secret}{'y' * 90}".encode()).decode(),
    "base64, wrapped and indented": lambda secret: "\n".join(
        "    " + line for line in base64.encodebytes(f"{'x' * 61}{secret}".encode()).decode().splitlines()
    ),
    "base64 of utf-16": lambda secret: base64.b64encode(secret.encode("utf-16-le")).decode(),
    "hex": lambda secret: secret.encode().hex(),
    "HEX": lambda secret: secret.encode().hex().upper(),
    "hEx": lambda secret: "".join(
        digit.upper() if number % 3 else digit for number, digit in enumerate(secret.encode().hex())
    ),
    "hex with colons": lambda secret: secret.encode().hex(":"),
    "hex in groups": lambda secret: secret.encode().hex(" ", 2),
    "hex escapes": lambda secret: "".join(f"\\x{byte:02x}" for byte in secret.encode()),
    "html": lambda secret: html.escape(secret),
    "repr": lambda secret: repr({"token": secret}),
    "repr of bytes": lambda secret: repr(secret.encode()),
    "utf-16": lambda secret: secret.encode("utf-16-le").decode("latin-1") if secret.isascii() else secret,
}  # fmt: skip
