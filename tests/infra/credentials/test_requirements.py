"""What OXP tools require, handed to the functions bound to them and to nobody else (OXP-37 to OXP-42)."""

from __future__ import annotations

import json
from typing import Any

import pytest

import ferrule
from ferrule.contracts.executor import Context
from ferrule.model.credentials import SecretRef, read_requirements
from ferrule.model.result import Result
from ferrule.settings import SecretSettings, Settings
from ferrule.testing import memory_app
from tests.infra.clouds.fixtures import in_event_loop
from tests.runtime.executors.rest.tools import ALLOW


def oxp(**requirements: Any) -> dict[str, str]:
    written = {
        "id": "Mail.Count@1.0.0",
        "name": "Mail_Count",
        "description": "Counts messages.",
        "version": "1.0.0",
        "input_schema": {"parameters": {"type": "object"}},
        "output_schema": {},
        **({"requirements": requirements} if requirements else {}),
    }
    return {"tools/count.json": json.dumps(written)}


SEEN: list[dict[str, str]] = []


@ferrule.tool("Mail.Count")
async def count(context: Context) -> dict[str, Any]:
    """Counts."""
    SEEN.append(dict(context.credentials))
    return {"said": list(context.credentials.values()), "ids": sorted(context.credentials)}


@ferrule.tool("Mail.Count")
def count_in_a_thread(context: Context) -> dict[str, Any]:
    """Counts."""
    SEEN.append(dict(context.credentials))
    return {"ids": sorted(context.credentials)}


def bound(*names: str) -> Settings:
    refs = {name: SecretRef(source="env", name=f"ENV_{name}") for name in names}
    return Settings(secrets=SecretSettings(bindings=refs))


async def counted(
    files: dict[str, str], settings: Settings, env: dict[str, str], function: Any = count, **who: Any
) -> Result:
    SEEN.clear()
    async with memory_app(definitions=files, tools=[function], settings=settings, environment=env, policy=ALLOW) as app:
        result = await app.surface(**who).call("Mail_Count", {})
        assert isinstance(result, Result)
        return result


@pytest.mark.parametrize("function", [count, count_in_a_thread])
@in_event_loop
async def test_only_the_secrets_a_definition_names_are_handed_over(function: Any) -> None:
    """OXP-39, OXP-42."""
    env = {"ENV_MAIL": "of-mail", "ENV_OTHER": "of-others"}
    result = await counted(oxp(secrets=[{"id": "MAIL"}]), bound("MAIL", "OTHER"), env, function)
    assert result.error is None and SEEN == [{"MAIL": "of-mail"}]
    assert result.structured_content["ids"] == ["MAIL"]


@in_event_loop
async def test_a_function_that_repeats_its_secret_does_not_tell_it() -> None:
    """OXP-42."""
    result = await counted(oxp(secrets=[{"id": "MAIL"}]), bound("MAIL"), {"ENV_MAIL": "canary-secret"})
    assert SEEN == [{"MAIL": "canary-secret"}] and "canary-secret" not in json.dumps(result.to_record())


@in_event_loop
async def test_a_tool_that_requires_nothing_gets_nothing() -> None:
    """OXP-37."""
    result = await counted(oxp(), bound("MAIL"), {"ENV_MAIL": "x"})
    assert result.error is None and SEEN == [{}]


@pytest.mark.parametrize(
    ("settings", "env"), [(bound(), {"ENV_MAIL": "x"}), (bound("MAIL"), {}), (bound("OTHER"), {"MAIL": "x"})]
)
@in_event_loop
async def test_what_is_missing_refuses_the_call_before_the_function_runs(
    settings: Settings, env: dict[str, str]
) -> None:
    """OXP-39, AT-36: a variable that merely has the same name is no binding."""
    result = await counted(oxp(secrets=[{"id": "MAIL"}]), settings, env)
    assert result.error is not None and result.error.error_class == "credential_missing"
    assert "MAIL" in result.error.message and not SEEN


@in_event_loop
async def test_a_provider_nobody_configured_refuses_the_call() -> None:
    """OXP-38."""
    result = await counted(oxp(authorization=[{"id": "acme"}]), bound(), {})
    assert result.error is not None and result.error.error_class == "credential_missing" and not SEEN


@in_event_loop
async def test_the_user_id_is_the_principal() -> None:
    """OXP-40."""
    result = await counted(oxp(user_id=True), bound(), {}, principal="alice")
    assert result.error is None and SEEN == [{}]


@in_event_loop
async def test_a_secret_that_vanishes_after_the_surface_was_made_refuses_the_call() -> None:
    SEEN.clear()
    env = {"ENV_MAIL": "x"}
    async with memory_app(
        definitions=oxp(secrets=[{"id": "MAIL"}]), tools=[count], settings=bound("MAIL"), environment=env, policy=ALLOW
    ) as app:
        surface = app.surface()
        del env["ENV_MAIL"]
        result = await surface.call("Mail_Count", {})
        assert isinstance(result, Result) and result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("credential_missing", "secret_unavailable")
        assert not SEEN


@pytest.mark.parametrize(
    "written",
    [
        None,
        [],
        {"secrets": "MAIL"},
        {"secrets": [7, {"id": 7}, {}]},
        {"authorization": {"id": "x"}},
        {"user_id": "true"},
    ],
)
def test_what_is_no_requirement_requires_nothing(written: Any) -> None:
    assert not read_requirements(written).is_anything


def test_scopes_of_one_provider_are_joined() -> None:
    """OXP-15."""
    listed = [{"id": "a", "oauth2": {"scopes": ["x", "y"]}}, {"id": "a", "oauth2": {"scopes": ["y", "z"]}}, {"id": "b"}]
    assert read_requirements({"authorization": listed}).authorization == {"a": ("x", "y", "z"), "b": ()}
