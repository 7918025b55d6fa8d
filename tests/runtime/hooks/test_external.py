"""Hooks outside the process: their answers are read strictly, and a complaint repeats none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.contracts.hook import HookFailed
from ferrule.runtime.hooks.external import decode_answer
from tests.runtime.hooks.workspace import RAN, build_hook, call, script

NO_ANSWERS = (
    *("", "no JSON", "[]", "null", "{} {}"),
    *('{"sotp": "x"}', '{"permission": "maybe"}', '{"updated_input": [1]}', '{"stop": 7}'),
)


@pytest.mark.parametrize("answer", NO_ANSWERS)
def test_what_a_program_says_is_read_strictly(tmp_path: Path, answer: str) -> None:
    """AT-158"""
    result = call(build_hook(tmp_path, kind="command", command=script(tmp_path, f"print({answer!r}, end='')")))
    assert result.error is not None and result.error.error_code == "hook_failed"
    assert "'guard'" in result.error.message and not RAN


def test_tools_limit_what_a_hook_sees(tmp_path: Path) -> None:
    """AT-147"""
    fitting = build_hook(tmp_path, kind="command", command=("true",), tools=("shop.*", "refund"))
    assert fitting.matches("shop.search", "search") and fitting.matches("bank.refund", "refund")
    assert not fitting.matches("bank.search", "search")


@pytest.mark.parametrize("text", [b'{"stop": "s3cret", "x-s3cret": 1}', b'{"permission": "s3cret"}', b"s3cret"])
def test_a_complaint_about_an_answer_repeats_none_of_it(text: bytes) -> None:
    with pytest.raises(HookFailed) as failed:
        decode_answer(text)
    assert "s3cret" not in str(failed.value)
