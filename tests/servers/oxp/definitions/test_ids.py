"""Which version an id means (OXP-30)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ferrule.servers.oxp.definitions import read_ref, resolve_version

NUMBERS = st.tuples(*[st.integers(0, 30)] * 3)
VERSIONS = st.sets(NUMBERS, min_size=1, max_size=12).map(
    lambda found: [".".join(map(str, one)) for one in sorted(found)]
)
TOOL = st.from_regex(r"[A-Za-z0-9_]{1,20}\.[A-Za-z0-9_]{1,20}", fullmatch=True)


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


@given(VERSIONS, st.data())
def test_without_a_version_the_highest_is_meant(versions: list[str], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(versions))
    assert resolve_version(None, shuffled) == max(versions, key=numbers)


@given(VERSIONS, NUMBERS)
def test_a_whole_version_means_exactly_that(versions: list[str], wanted: tuple[int, int, int]) -> None:
    version = ".".join(map(str, wanted))
    assert resolve_version(version, versions) == (version if version in versions else None)


@given(TOOL, st.integers(0, 10**17), VERSIONS)
def test_a_major_version_means_its_first(tool: str, major: int, versions: list[str]) -> None:
    ref = read_ref(f"{tool}@{major}")
    assert ref is not None
    assert (ref.tool, ref.version) == (tool, f"{major}.0.0")
    assert resolve_version(ref.version, versions) == (f"{major}.0.0" if f"{major}.0.0" in versions else None)


@given(st.text(max_size=40))
def test_what_is_no_id_is_none(text: str) -> None:
    ref = read_ref(text)
    if ref is not None:
        plain = text.partition("@")[0]
        assert ref.tool == plain
        assert plain.isascii() and plain.count(".") == 1


def test_nothing_is_resolved_among_nothing() -> None:
    assert resolve_version(None, []) is None
    assert resolve_version("1.0.0", []) is None
