"""What is written in a format and read again is the tool, apart from exactly what the report of losses says (AT-3, AT-257)."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ferrule.contracts.format import Format, WriteOptions
from ferrule.definitions.content.extension import find_differences
from ferrule.definitions.formats.builtin import FORMATS
from ferrule.definitions.formats.origins import CLAIMED
from ferrule.model.tool import FACT_NAMES, Tool
from tests.definitions.dialects.tools import tools as defined_tools
from tests.definitions.formats.tools import tools as odd_tools

NAMES = [name for name in FORMATS.names() if name != "openapi"]
PROVIDERS = [name for name in NAMES if name != "mcp"]
LEGAL = {"mcp": r"[A-Za-z0-9_.-]{1,128}", "anthropic": r"[A-Za-z0-9_-]{1,128}"}
GEMINI = r"[A-Za-z_][A-Za-z0-9_-]{0,63}"
tools = st.one_of(defined_tools(), odd_tools())
quick = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def read_again(form: Format, listed: list[Tool], options: WriteOptions) -> tuple[dict[str, Tool], dict[str, set[str]]]:
    """What is read again, by the name it was written under, and the places that were reported as lost, by tool id."""
    writing = form.write(listed, options)
    text = json.dumps(writing.value)
    reading = form.read(json.loads(text), "", writing.names)
    assert not [finding.message for finding in reading.findings if finding.rule != CLAIMED]
    assert form.detect(json.loads(text)) or not reading.tools
    lost: dict[str, set[str]] = {}
    for loss in filter(lambda loss: loss.is_final, writing.losses):
        lost.setdefault(loss.tool_id, set()).add(loss.field)
    return {read.tool.name: read.tool for read in reading.tools}, lost


@pytest.mark.parametrize("name", NAMES)
@given(tools, st.booleans(), st.booleans())
@quick
def test_reading_again_gives_everything_but_what_was_reported(
    name: str, tool: Tool, is_strict: bool, is_plain: bool
) -> None:
    options = WriteOptions(is_strict=is_strict, is_plain=is_plain)
    form = FORMATS.get(name)
    writing = form.write([tool], options)
    if writing.left_out:
        assert writing.left_out[0].path == (tool.tool_id,)
        return
    back, lost = read_again(form, [tool], options)
    assert set(back) == {tool.name}
    told = {field for field in lost.get(tool.tool_id, set()) if not field.startswith(f"{tool.dialect}.")}
    rewritten = {loss.field for loss in writing.losses if loss.instead == "rewritten"}
    assert told <= set(find_differences(tool, back[tool.name])) <= told | rewritten


@pytest.mark.parametrize("name", NAMES)
@given(st.lists(tools, max_size=6))
@quick
def test_names_are_legal_and_unlike_and_lead_back(name: str, listed: list[Tool]) -> None:
    form = FORMATS.get(name)
    writing = form.write(listed, WriteOptions(is_plain=True))
    written = [read.tool.name for read in form.read(writing.value, "", {}).tools]
    pattern = re.compile(LEGAL.get(name) or (GEMINI if "gemini" in name else r"[A-Za-z0-9_-]{1,64}"))
    assert all(pattern.fullmatch(one) for one in written)
    assert len(set(written)) == len(written) == len(listed) - len(writing.left_out)
    own = {tool.name for tool in listed}
    assert {writing.names.get(one, one) for one in written} <= own


@pytest.mark.parametrize("name", NAMES)
@given(tools)
@quick
def test_what_was_read_is_written_again_as_it_was(name: str, tool: Tool) -> None:
    form = FORMATS.get(name)
    once = form.write([tool], WriteOptions(is_plain=True))
    reading = form.read(once.value, "", once.names)
    twice = form.write([read.tool for read in reading.tools], WriteOptions())
    assert twice.value == once.value
    assert not any(loss.is_final for loss in twice.losses)


@pytest.mark.parametrize("name", PROVIDERS)
@given(tools)
@quick
def test_nothing_that_is_read_counts_as_safe(name: str, tool: Tool) -> None:
    form = FORMATS.get(name)
    writing = form.write([tool], WriteOptions())
    for read in form.read(writing.value, "shop", {}).tools:
        assert read.tool.inferred_facts == FACT_NAMES
        assert read.tool.facts.is_read_only is False
        assert read.tool.facts.is_open_world is True
        assert read.tool.tool_kind == "function"
        assert read.tool.namespace == "shop"
