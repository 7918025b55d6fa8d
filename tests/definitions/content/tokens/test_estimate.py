"""The estimate of tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.definitions.content.tokens import token_estimate

COUNTED = [
    # A text, and what two public vocabularies make of it: o200k_base and cl100k_base.
    ("Sucht eine Bestellung anhand ihrer Nummer und gibt ihren Zustand zurück. Nicht für Rückerstattungen verwenden.", 21, 26),
    ("Recherche une commande par son numéro et renvoie son état.", 12, 14),
    ("Βρίσκει μια παραγγελία με τον αριθμό της και επιστρέφει την κατάστασή της.", 25, 63),
    ("注文番号で注文を検索し、その状態を返します。返金には使用しないでください。", 22, 37),
    ("按订单号查找订单并返回其状态。不要用于退款。", 15, 18),
    ("주문 번호로 주문을 찾아 상태를 반환합니다. 환불에는 사용하지 마세요.", 20, 28),
]  # fmt: skip


@pytest.mark.parametrize(("text", "newer", "older"), COUNTED)
def test_the_estimate_of_a_sentence_is_near_what_vocabularies_count(text: str, newer: int, older: int) -> None:
    assert 0.85 * newer <= token_estimate(text) <= 1.25 * older


def test_no_text_is_no_token() -> None:
    assert token_estimate() == token_estimate("", b"") == 0


@given(st.lists(st.text(max_size=40), max_size=5), st.text(max_size=40))
def test_more_text_is_never_fewer_tokens(texts: list[str], more: str) -> None:
    assert token_estimate(*texts) <= token_estimate(*texts, more)


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=40), max_size=5))
def test_bytes_count_as_their_text(texts: list[str]) -> None:
    assert (
        token_estimate(*texts) == token_estimate(*(text.encode() for text in texts)) == token_estimate("".join(texts))
    )
