"""No known secret survives, in whatever spelling, and nothing else is touched."""

from __future__ import annotations

import threading
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.contracts.redactor import Redactor
from ferrule.runtime.redaction import redactor as engine
from ferrule.runtime.redaction.matcher import Matcher
from tests.runtime.redaction.spelled import CANARIES, ENCODINGS, KNOWN, plain


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


def test_values_of_one_call_are_told_as_a_field() -> None:
    idle = plain()
    assert idle.text("it said hunter2hunter2", also=["hunter2hunter2"]) == ("it said [REDACTED]", ("sensitive_field",))
    number: Any = {"n": 4711}
    assert idle.value(number, also=["4711"]) == ({"n": "[REDACTED]"}, ("sensitive_field",))
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
    monkeypatch.setattr(engine, "MAX_LEARNED", 50)
    known = plain(FIXED="of-the-settings")
    for number in range(200):
        known.add("TOKEN", f"rotating-token-{number:04}")
    assert known.text("of-the-settings rotating-token-0199")[0] == "[REDACTED] [REDACTED]"
    assert known.text("rotating-token-0000")[0] == "rotating-token-0000"
    known.add("TOKEN", "rotating-token-0000")
    assert known.text("rotating-token-0000")[0] == "[REDACTED]"


def test_names_never_hold_a_value() -> None:
    _, found = KNOWN.text("\n".join(CANARIES.values()))
    assert not any(secret in " ".join(found) for secret in CANARIES.values())
    assert not any(secret in repr(KNOWN) for secret in CANARIES.values())


def test_it_meets_the_contract() -> None:
    known: Redactor = plain(S="my-own-secret")
    assert known.may_hold(b'{"a":"my-own-secret"}')
    assert not known.may_hold(b'{"a":"something else"}')
