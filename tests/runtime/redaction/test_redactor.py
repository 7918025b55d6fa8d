"""No known secret survives, in whatever spelling, and nothing else is touched."""

from __future__ import annotations

import base64
import html
import json
import random
import re
import string
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.contracts.redactor import Redactor
from ferrule.model.persistence import RedactionSettings
from ferrule.runtime.redaction import redactor as engine
from ferrule.runtime.redaction.matcher import Matcher
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


PIECES = st.lists(
    st.text(max_size=12)
    | st.sampled_from([encode(secret) for secret in list(CANARIES.values())[:24] for encode in ENCODINGS.values()])
    | st.sampled_from(["=", "==", "\n", " ", "YWJj", "616263", "a"]),
    max_size=8,
)


@settings(max_examples=300, deadline=None)
@given(PIECES, st.lists(st.integers(0, 4000), max_size=12))
def test_however_a_stream_is_cut_it_says_what_the_whole_says(pieces: list[str], cuts: list[int]) -> None:
    """AT-233: a secret split across chunks is found."""
    data = "".join(pieces).encode("utf-8", "surrogatepass")
    whole = KNOWN.stream()
    expected = whole.feed(data) + whole.finish()
    assert expected.decode("utf-8", "surrogatepass") == KNOWN.text(data.decode("utf-8", "surrogatepass"))[0]
    stream, passed, last = KNOWN.stream(), b"", 0
    for cut in [*sorted(cut for cut in cuts if cut < len(data)), len(data)]:
        passed += stream.feed(data[last:cut])
        last = cut
    assert passed + stream.finish() == expected
    assert set(stream.found) == set(whole.found)


@settings(max_examples=50, deadline=None)
@given(PIECES)
def test_a_stream_byte_by_byte(pieces: list[str]) -> None:
    data = "".join(pieces).encode("utf-8", "surrogatepass")
    stream = KNOWN.stream()
    passed = b"".join(stream.feed(data[at : at + 1]) for at in range(len(data))) + stream.finish()
    assert passed.decode("utf-8", "surrogatepass") == KNOWN.text(data.decode("utf-8", "surrogatepass"))[0]


@given(st.binary(max_size=400), st.integers(0, 400))
def test_bytes_that_are_no_text_go_through_as_they_are(data: bytes, cut: int) -> None:
    stream = KNOWN.stream()
    assert stream.feed(data[:cut]) + stream.feed(data[cut:]) + stream.finish() == data


def test_a_stream_lets_everything_through_that_cannot_be_a_secret() -> None:
    stream = KNOWN.stream()
    passed = b"".join(stream.feed(PROSE.encode()) for _ in range(1000))
    assert len(PROSE) * 1000 - len(passed) < 400
    assert passed + stream.finish() == PROSE.encode() * 1000
    assert stream.found == ()


@given(st.text(max_size=300))
def test_text_without_secrets_is_the_very_same(text: str) -> None:
    cleaned, found = KNOWN.text(text)
    assert cleaned is text
    assert found == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_a_value_without_secrets_is_the_very_same(value: Any) -> None:
    cleaned, found = KNOWN.value(value)
    assert cleaned is value
    assert found == ()


@given(JSON, st.sampled_from(sorted(CANARIES)))
def test_a_value_keeps_its_shape(value: Any, name: str) -> None:
    secret = CANARIES[name]
    given_value = {"before": value, "secret": [f"-{secret}-", value], "after": (value, secret)}
    kept = msgspec.json.encode(given_value) if "\ud800" not in str(value) else None
    cleaned, found = KNOWN.value(given_value)
    assert cleaned["before"] == value
    assert cleaned["secret"] == ["-[REDACTED]-", value]
    assert cleaned["after"] == (value, "[REDACTED]")
    assert found == (f"secret:{name}",)
    assert kept is None or msgspec.json.encode(given_value) == kept


def test_keys_are_looked_at_too_and_stay_apart() -> None:
    known = plain(A="first-secret", B="second-secret")
    value = {"first-secret": 1, "x": 2, "second-secret": {"first-secret": 3}}
    cleaned, found = known.value(value)
    assert cleaned == {"[REDACTED]": 1, "x": 2, "[REDACTED] 2": {"[REDACTED]": 3}}
    assert list(cleaned) == ["[REDACTED]", "x", "[REDACTED] 2"]
    assert set(found) == {"secret:A", "secret:B"}


def test_depth_and_loops_do_no_harm() -> None:
    deep: Any = "my-own-secret"
    for _ in range(50_000):
        deep = [deep]
    cleaned, found = plain(S="my-own-secret").value(deep)
    assert found == ("secret:S",)
    for _ in range(50_000):
        (cleaned,) = cleaned
    assert cleaned == "[REDACTED]"
    loop: list[Any] = ["my-own-secret"]
    loop.append(loop)
    cleaned, _ = plain(S="my-own-secret").value(loop)
    assert cleaned[0] == "[REDACTED]"
    assert cleaned[1] is cleaned


def test_a_secret_may_stand_as_a_number() -> None:
    known = plain(CARD="4111111111111111", PIN="007", RATE="12.75")
    value = {"card": 4111111111111111, "as float": 4111111111111111.0, "rate": 12.75, "other": 7, "flag": True}
    cleaned, found = known.value(value)
    mark = "[REDACTED]"
    assert cleaned == {"card": mark, "as float": mark, "rate": mark, "other": 7, "flag": True}
    assert set(found) == {"secret:CARD", "secret:RATE"}
    assert known.value({"big": 10**400, "n": 1}) == ({"big": 10**400, "n": 1}, ())


def test_overlapping_secrets_leave_no_tail() -> None:
    known = plain(A="abcdefgh", B="efghijkl", C="ijklmnop", D="cdef")
    assert known.text("<abcdefghijklmnop>")[0] == "<[REDACTED]>"
    assert known.text("abcdefgh.efghijkl")[0] == "[REDACTED].[REDACTED]"


@pytest.mark.parametrize("row", ["a", "ab", "61", "YWFh", "0"])
def test_a_secret_that_repeats_itself_takes_no_time(row: str) -> None:
    known = plain(A="aaaaaaaa", B="a" * 60, C="abababab", D="00000000", E="00")
    started = time.process_time()
    text = f"<{row * (200_000 // len(row))}>"
    cleaned, _ = known.text(text)
    assert cleaned == "<[REDACTED]>"
    stream = known.stream()
    passed = b"".join(stream.feed(text[at : at + 4096].encode()) for at in range(0, len(text), 4096))
    assert (passed + stream.finish()).decode() == cleaned
    assert time.process_time() - started < 10  # far more than it takes; what is caught is growth by the square
    assert known.text("x" + "a" * 9 + "y" + "ab" * 5 + "b")[0] == "x[REDACTED]y[REDACTED]b"


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


def test_values_of_one_call_are_told_as_a_field() -> None:
    idle = plain()
    assert idle.text("it said hunter2hunter2", also=["hunter2hunter2"]) == ("it said [REDACTED]", ("sensitive_field",))
    assert idle.value({"n": 4711}, also=["4711"]) == ({"n": "[REDACTED]"}, ("sensitive_field",))
    assert idle.text("it said hunter2hunter2") == ("it said hunter2hunter2", ())
    stream = idle.stream(also=["hunter2hunter2"])
    assert stream.feed(b"it said hunter2hun") + stream.feed(b"ter2.") + stream.finish() == b"it said [REDACTED]."
    assert stream.found == ("sensitive_field",)


def test_many_values_of_one_call() -> None:
    """Few are looked for one by one, many by an automaton: with the same outcome."""
    values = list(CANARIES.values())
    text = " | ".join(encode(values[0]) for encode in ENCODINGS.values())
    few = plain().text(text, also=values[:1])[0]
    many = plain().text(text, also=values)[0]
    assert few == many


def test_learning_is_cheap_and_safe_from_any_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Counted(Matcher):
        __slots__ = ()

        def __init__(self, *given: Any, **named: Any) -> None:
            made.append(1)
            super().__init__(*given, **named)

    monkeypatch.setattr(engine, "Matcher", Counted)
    assert plain().is_idle
    known = plain()
    for name, secret in CANARIES.items():
        known.add(name, secret)
    assert not made
    assert not known.is_idle
    assert known.text(f"x {CANARIES['CANARY_7']}")[1] == ("secret:CANARY_7",)
    assert len(made) == 1
    for name, secret in CANARIES.items():
        known.add(name, secret)
        known.text("x")
    assert len(made) == 1  # learning one again costs nothing
    known.add("LATE", "a-late-secret")
    assert known.text("a-late-secret") == ("[REDACTED]", ("secret:LATE",))
    assert len(made) == 2

    def learn(number: int) -> None:
        for step in range(30):
            known.add(f"T{number}", f"thread-{number}-secret-{step}")
            assert known.text(f"thread-{number}-secret-{step}")[0] == "[REDACTED]"

    threads = [threading.Thread(target=learn, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert known.text("thread-2-secret-0 thread-3-secret-29")[0] == "[REDACTED] [REDACTED]"


def test_memory_is_bounded_and_settings_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MOST", 50)
    known = plain(FIXED="of-the-settings")
    for number in range(200):
        known.add("TOKEN", f"rotating-token-{number:04}")
    assert known.text("of-the-settings rotating-token-0199")[0] == "[REDACTED] [REDACTED]"
    assert known.text("rotating-token-0000")[0] == "rotating-token-0000"
    known.add("TOKEN", "rotating-token-0000")
    assert known.text("rotating-token-0000")[0] == "[REDACTED]"


def test_one_secret_under_two_names_is_told_under_both() -> None:
    assert set(plain(A="the-same-one", B="the-same-one").text("the-same-one")[1]) == {"secret:A", "secret:B"}


def test_names_never_hold_a_value() -> None:
    _, found = KNOWN.text("\n".join(CANARIES.values()))
    assert not any(secret in " ".join(found) for secret in CANARIES.values())
    assert not any(secret in repr(KNOWN) for secret in CANARIES.values())


def test_it_meets_the_contract() -> None:
    known: Redactor = plain(S="my-own-secret")
    assert known.may_hold(b'{"a":"my-own-secret"}')
    assert not known.may_hold(b'{"a":"something else"}')


def test_odd_text_is_no_way_around() -> None:
    known = plain(S="my-own-secret")
    assert known.text("\ud800my-own-secret\udfff")[0] == "\ud800[REDACTED]\udfff"
    assert known.value({"\ud800": "my-own-secret"}) == ({"\ud800": "[REDACTED]"}, ("secret:S",))
    assert plain(S="half\ud800surrogate").text("xhalf\ud800surrogatex")[0] == "x[REDACTED]x"
