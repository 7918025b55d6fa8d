"""The process that runs functions: it reads typed arguments, tells what happens on the way, and says only what can be said."""

from __future__ import annotations

import pytest

from ferrule.model.persistence import RedactionSettings
from ferrule.model.result import Result
from ferrule.runtime.pipeline.redaction import guard_logs
from ferrule.runtime.redaction.redactor import KnownSecrets
from tests.driven import driven
from tests.runtime.functions.isolated_app import call_for_value, call_tool, isolated_app

HUSHED = {"API_SECRET": "hush-hush-7"}


@driven
async def test_typed_arguments_are_read_there_and_what_is_printed_is_no_answer() -> None:
    async with isolated_app() as app:
        found = await call_for_value(app, "order", item={"name": "pen", "count": 2})
        assert found == {"name": "pen", "count": 2, "when": 1}


@driven
async def test_an_async_function_tells_its_progress_and_gives_an_output() -> None:
    async with isolated_app() as app:
        handle = app.surface(principal="ann")
        result = await handle.call("apart.later", {"text": "hush-hush-9 and more"})
        assert isinstance(result, Result) and isinstance(result.structured_content, dict)
        assert result.structured_content["for"] == "ann"
        assert "hush-hush-9" not in str(result.structured_content)
        said = [fact for row in await app.store.news_of(result.invocation_id) for fact in row.news().happened]
        rows = await app.store.rows_of(result.invocation_id)
        said += [fact for row in rows for fact in row.segment().notes.get("happened", ())]
        assert any(fact["data"].get("percent") == 50 for fact in said)


@pytest.mark.parametrize("how", ["raise", "log"])
@driven
async def test_a_text_that_is_not_unicode_is_logged_without_the_secret_beside_it(
    how: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    release = guard_logs(KnownSecrets(RedactionSettings(secrets_env=tuple(HUSHED)), HUSHED))
    try:
        async with isolated_app(environment=HUSHED) as app:
            await call_tool(app, "tells", how=how)
    finally:
        release()
    assert "[REDACTED] is not in caf\\udce9" in caplog.text
    assert "hush-hush-7" not in caplog.text + capfd.readouterr().err


@driven
async def test_a_text_that_is_not_unicode_is_one_calls_failure() -> None:
    async with isolated_app(environment=HUSHED) as app:
        failed, gave = await call_tool(app, "tells", how="failed"), await call_tool(app, "tells", how="give")
        assert failed.error is not None and failed.error.message == "nothing is in caf\\udce9"
        assert gave.error is not None and gave.error.error_code == "result_mapping_failed"
