"""A secret is found in every spelling that is looked for, and chance writes none of them."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest

from ferrule.model.persistence import RedactionSettings
from ferrule.runtime.redaction.redactor import KnownSecrets
from tests.runtime.redaction.spelled import CANARIES, ENCODINGS, KNOWN, PROSE, plain


def decodings(text: str) -> list[str]:
    """The text as somebody may read it who looks for secrets."""
    found = [text]
    for run in text.replace("[REDACTED]", " ").split():
        for cut in range(4):
            piece = run[cut:].strip("\"'{},:")
            piece = piece[: len(piece) // 4 * 4].replace("-", "+").replace("_", "/")
            try:
                found.append(base64.b64decode(piece).decode("utf-8", "replace"))
            except ValueError:
                continue
    return found


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_no_canary_survives_in_any_encoding(encoding: str) -> None:
    """AT-84, AT-124, AT-233: raw, escaped, percent-encoded, base64, hex; in texts and in values."""
    encode = ENCODINGS[encoding]
    for name, secret in CANARIES.items():
        written = encode(secret)
        text = f"{PROSE}value={written}; {PROSE}"
        cleaned, found = KNOWN.text(text)
        assert f"secret:{name}" in found, (encoding, secret)
        assert cleaned.startswith(PROSE + "value="), (encoding, secret)
        assert cleaned.endswith(PROSE), (encoding, secret)
        assert "[REDACTED]" in cleaned
        assert written not in cleaned
        assert not any(secret in decoded for decoded in decodings(cleaned)), (encoding, secret)
        value: Any
        value, _ = KNOWN.value({"list": [{"note": text}, 1], written: True})
        assert written not in str(value["list"][0]["note"])
        assert value["list"][1] == 1


def test_a_text_of_all_canaries_has_none_afterwards() -> None:
    everything = "\n".join(
        f"{name}: {encode(secret)}" for encode in ENCODINGS.values() for name, secret in CANARIES.items()
    )
    cleaned, found = KNOWN.text(everything)
    assert len(found) == len(CANARIES)
    for secret in CANARIES.values():
        assert secret not in cleaned
        for encode in ENCODINGS.values():
            assert encode(secret) not in cleaned
    assert KNOWN.text(cleaned) == (cleaned, ())


def test_short_secrets_only_count_where_they_stand_alone() -> None:
    known = plain(PIN="123", WORD="abcd")
    assert known.text("pin 123, not 4123 or 123é or 123_")[0] == "pin [REDACTED], not 4123 or 123é or 123_"
    assert known.text("xabcdx")[0] == "x[REDACTED]x"
    encoded = base64.b64encode(b"abcd").decode()
    assert known.text(f"key {encoded} and X{encoded.rstrip('=')}X")[0] == f"key [REDACTED] and X{encoded.rstrip('=')}X"
    assert known.value({"n": 123, "m": 1234}) == ({"n": "[REDACTED]", "m": 1234}, ("secret:PIN",))


def test_what_cannot_be_a_secret_is_none() -> None:
    known = plain(EMPTY="", BLANK=" \n", MARK="[REDACTED]", PART="REDACT")
    assert known.is_idle
    assert known.text("[REDACTED] and REDACT") == ("[REDACTED] and REDACT", ())
    assert KnownSecrets(RedactionSettings(secrets_env=("NOT_SET",), well_known=False), {}).is_idle
    assert not KnownSecrets(RedactionSettings(), {}).is_idle


def test_blanks_around_a_secret_do_not_belong_to_it() -> None:
    assert plain(S="from-a-file\n").text("key=from-a-file;")[0] == "key=[REDACTED];"


def test_a_long_secret_and_the_lines_of_a_key() -> None:
    dice = random.Random(5)
    body = base64.encodebytes(bytes(dice.randrange(256) for _ in range(3000))).decode()
    key = f"-----BEGIN THING-----\n{body}-----END THING-----"
    known = plain(KEY=key)
    for text in (key, json.dumps(key), base64.b64encode(key.encode()).decode(), key.replace("\n", "\r\n    ")):
        cleaned, _ = known.text(f"<{text}>")
        lines = body.splitlines()
        assert not any(line in cleaned for line in lines)
        assert len(cleaned) < 1000
    assert known.text(body.splitlines()[7])[0] == "[REDACTED]"
