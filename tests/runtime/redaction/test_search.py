"""Everything is looked for at once: what overlaps is taken out whole, and what was cut short is found."""

from __future__ import annotations

from tests.runtime.pipeline.secret_app import KNOWN, SECRET
from tests.runtime.redaction.spelled import plain


def test_overlapping_secrets_leave_no_tail() -> None:
    known = plain(A="abcdefgh", B="efghijkl", C="ijklmnop", D="cdef")
    assert known.text("<abcdefghijklmnop>")[0] == "<[REDACTED]>"
    assert known.text("abcdefgh.efghijkl")[0] == "[REDACTED].[REDACTED]"


def test_one_secret_under_two_names_is_told_under_both() -> None:
    assert set(plain(A="the-same-one", B="the-same-one").text("the-same-one")[1]) == {"secret:A", "secret:B"}


def test_odd_text_is_no_way_around() -> None:
    known = plain(S="my-own-secret")
    assert known.text("\ud800my-own-secret\udfff")[0] == "\ud800[REDACTED]\udfff"
    assert known.value({"\ud800": "my-own-secret"}) == ({"\ud800": "[REDACTED]"}, ("secret:S",))
    assert plain(S="half\ud800surrogate").text("xhalf\ud800surrogatex")[0] == "x[REDACTED]x"


def test_the_beginning_of_a_secret_in_a_message_that_was_cut_short() -> None:
    for size in range(6, len(SECRET)):
        clean, names = KNOWN.text(f"not fit: '{SECRET[:size]}…', and so on")
        assert SECRET[:6] not in clean
        assert names == ("cut_off",)
        assert KNOWN.value({"a": [f"{SECRET[:size]}…"]})[0] == {"a": ["[REDACTED]…"]}
    for text in ("and so on…", f"{SECRET[:4]}…", "…", "…" * 5000):
        assert KNOWN.text(text)[0] == text
