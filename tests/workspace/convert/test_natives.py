"""There and back for every pair of dialects and formats: what reading gives is what was written, except exactly the losses."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ferrule.contracts.format import Format, WriteOptions
from ferrule.definitions.content.extension import decode_raw, find_differences
from ferrule.definitions.content.native_fields import list_native_fields
from ferrule.definitions.formats.builtin import FORMATS
from ferrule.model.diagnostic import Severity
from ferrule.model.loss import Loss
from ferrule.model.native_definition import native_refs
from ferrule.model.tool import Tool
from ferrule.workspace.convert import TARGETS
from ferrule.workspace.convert.convert import encode_json
from ferrule.workspace.convert.natives import NATIVES
from tests.definitions.dialects.tools import DIALECTS, definitions, tools

NATIVE = tuple(NATIVES)
FOREIGN = tuple(name for name in TARGETS if name not in NATIVES)
FEW = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))


class Leg(NamedTuple):
    """One conversion, and what reading its result gives."""

    written: list[Tool]
    read: list[Tool]
    losses: list[Loss]

    def final(self, tool: Tool) -> set[str]:
        return {loss.field for loss in self.losses if loss.is_final and loss.tool_id == tool.tool_id}


def format_of(name: str) -> Format:
    return NATIVES[name] if name in NATIVES else FORMATS.get(name)


def converted(sources: Sequence[Tool], to: str, is_plain: bool = False) -> Leg:
    """The tools in a format, and read again. Ids are made unique first, so that losses can be told apart."""
    format_ = format_of(to)
    writing = format_.write(sources, WriteOptions(is_plain=is_plain))
    out = {finding.path[0] for finding in writing.left_out}
    kept = [tool for tool in sources if tool.tool_id not in out]
    if not kept:
        return Leg([], [], [])
    namespace = sources[0].namespace if to == "aml" and sources[0].dialect == "aml" else ""
    value = writing.value if to == "aml" else decode_raw(msgspec.Raw(encode_json(writing.value)))
    reading = format_.read(value, namespace, writing.names)
    assert not [finding for finding in reading.findings if finding.severity is Severity.ERROR]
    found = [entry.tool for entry in reading.tools]
    assert len(found) == len(kept)
    return Leg(kept, found, list(writing.losses))


def own_words(tool: Tool) -> set[str]:
    return {f"{tool.dialect}.{name}" for name in list_native_fields(tool)}


def unlike(tool: Tool, back: Tool) -> set[str]:
    """Everything in which a tool that was read is not the one that was written."""
    found = set(find_differences(tool, back))
    if tool.dialect != back.dialect:
        return found | own_words(tool)
    mine, theirs = list_native_fields(tool), list_native_fields(back)
    return found | {f"{tool.dialect}.{name}" for name, said in mine.items() if theirs.get(name) != said}


@st.composite
def batches(draw: st.DrawFn, one: st.SearchStrategy[Tool]) -> list[Tool]:
    """A few tools of one namespace, with ids of their own."""
    drawn = draw(st.lists(one, min_size=1, max_size=3, unique_by=lambda tool: tool.tool_id))
    first = drawn[0]  # an AML file says no namespace, so those of AML and others are read apart
    return [
        tool for tool in drawn if (tool.namespace, tool.dialect == "aml") == (first.namespace, first.dialect == "aml")
    ]


@pytest.mark.parametrize("to", NATIVE)
@FEW
@given(sources=batches(tools()))
def test_nothing_is_lost_where_our_key_may_stand(to: str, sources: list[Tool]) -> None:
    """AT-3, AT-257, AT-262, AT-263, AT-264, AT-278: identity, native ids and unknown fields come back."""
    leg = converted(sources, to)
    for tool, back in zip(leg.written, leg.read, strict=True):
        assert leg.final(tool) == set()
        assert unlike(tool, back) == set()
        assert (back.dialect, native_refs(back)) == (tool.dialect, native_refs(tool))


@pytest.mark.parametrize("to", [*NATIVE, "mcp", "openapi"])
@FEW
@given(sources=batches(tools()))
def test_plain_losses_are_exactly_what_reading_does_not_give(to: str, sources: list[Tool]) -> None:
    """ADL-54, AT-3: a report of losses has neither more nor less."""
    leg = converted(sources, to, is_plain=True)
    for tool, back in zip(leg.written, leg.read, strict=True):
        assert leg.final(tool) == unlike(tool, back)


@pytest.mark.parametrize("to", [name for name in FOREIGN if name not in ("mcp", "openapi")])
@FEW
@given(sources=batches(tools()))
def test_lists_of_functions_tell_all_they_do_not_say(to: str, sources: list[Tool]) -> None:
    """What a provider's list gives differently is told; schemas that were rewritten for it read otherwise, and are told so."""
    leg = converted(sources, to)
    for tool, back in zip(leg.written, leg.read, strict=True):
        told = {loss.field for loss in leg.losses if loss.tool_id == tool.tool_id}
        lost = unlike(tool, back)
        assert {place for place in lost if not place.startswith("input_schema")} <= told
        assert not any(place.startswith("input_schema") for place in lost) or any("input_schema" in one for one in told)
        assert {place for place in leg.final(tool) if "/" not in place} <= lost | {"input_schema", "output_schema"}


@pytest.mark.parametrize(("dialect", "over"), list(product(DIALECTS, [*NATIVE, *FOREIGN])))
@FEW
@given(data=st.data())
def test_a_tool_comes_back_from_any_format(dialect: str, over: str, data: st.DataObject) -> None:
    """AT-257: A to B to A is A, except what one of the two reports told."""
    sources = data.draw(batches(definitions(dialect)))
    there = converted(sources, over)
    back = converted(there.read, dialect.replace("_", "-")) if there.read else there
    for tool, between, again in zip(there.written, there.read, back.read, strict=True):
        told = {field.partition("/")[0] for field in there.final(tool) | back.final(between)}
        lost = {field.partition("/")[0] for field in unlike(tool, again)}
        assert lost <= told
