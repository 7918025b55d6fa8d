"""A result in the ledger: packed into its row, and the same when it is read back."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ferrule.model.journal import Segment
from ferrule.model.result import MutationNote, Pending, Result
from ferrule.runtime.pipeline.results.packing import pack_plain, pack_result, read_answer, unpack_result
from tests.spec.running_app import run_async, running_app

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=9,
)
BLOCKS = st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": st.text(max_size=9)}), max_size=2).map(tuple)
TEXTS = st.none() | st.text(min_size=1, max_size=9)
RESULTS = st.builds(
    Result,
    invocation_id=st.just("inv_1"),
    status=st.sampled_from(["succeeded", "redacted"]),
    created_at=st.just(7),
    content=BLOCKS,
    structured_content=JSON,
    model_facing_content=st.none() | BLOCKS,
    summary=TEXTS,
    ui_facing_summary=TEXTS,
    synthetic=st.booleans(),
    input_mutations=st.sampled_from([(), (MutationNote("mut_1", "hook", "guard", ("city",)),)]),
    persistence_refs=st.sampled_from([(), ("per_1", "per_2")]),
    artifact_refs=st.sampled_from([(), ({"id": "a"},)]),
    native_output=JSON,
)


def segment(status: str, **notes: Any) -> Segment:
    return Segment(msgspec.Raw(b"\xc0"), 1, [], [], status=status, notes=notes)


@given(RESULTS)
def test_any_result_is_the_same_when_it_is_read_back(result: Result) -> None:
    assert unpack_result("inv_1", segment(result.status), pack_result(result), 7) == result


@given(BLOCKS, JSON)
def test_a_result_of_content_alone_is_packed_like_any_other(content: tuple[dict[str, Any], ...], value: Any) -> None:
    result = Result(invocation_id="inv_1", status="succeeded", created_at=7, content=content, structured_content=value)
    assert pack_plain(content, value) == pack_result(result)


def test_numbers_past_64_bits_cost_the_value_and_not_its_text() -> None:
    text = ({"type": "text", "text": str(10**30)},)
    for data in (
        pack_plain(text, 10**30),
        pack_result(
            Result(invocation_id="inv_1", status="succeeded", created_at=7, content=text, structured_content=10**30)
        ),
    ):
        again = unpack_result("inv_1", segment("succeeded"), data, 7)
        assert (again.content, again.structured_content) == (text, None)


def test_of_an_erased_result_status_and_references_stay() -> None:
    """AT-274"""
    said = segment("succeeded", persistence_refs=["per_1"], native_call_id="n1", abort_reason="timeout")
    erased = unpack_result("inv_1", said, None, 7)
    assert (erased.status, erased.redaction_state, erased.persistence_refs) == ("succeeded", "full", ("per_1",))
    assert (erased.native_call_id, erased.abort_reason) == ("n1", "timeout")
    assert "was erased" in erased.text


@run_async
async def test_rows_give_the_result_or_what_the_call_waits_for() -> None:
    async with running_app(policy="") as on:
        waiting = await on.park()
        told = read_answer(await on.app.store.rows_of(waiting.invocation_id))
        assert isinstance(told, Pending)
        assert (told.state, told.expires_at) == (waiting.state, waiting.expires_at)
        assert told.message.startswith("it waits for an approval") and "no rule decides" in told.message
        result = await on.answer()
        assert read_answer(await on.app.store.rows_of(waiting.invocation_id)) == result
    assert read_answer([]) is None
