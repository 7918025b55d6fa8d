"""Operations of an OpenAPI document as tools, as they are."""

from __future__ import annotations

from tests.definitions.formats.pets import PETS, read_back


def test_the_method_tells_facts_and_they_are_marked_as_inferred() -> None:
    """AT-51."""
    get, post = read_back(PETS)
    assert get.facts.is_read_only is True and "is_read_only" in get.inferred_facts
    assert post.facts.is_read_only is False and post.lifecycle == "deprecated"
    assert (get.tool_kind, get.namespace, get.name) == ("openapi_operation", "pet-store", "getPet")
