"""Systems that repeat a secret where their words are cut short: no half of it is left either."""

from __future__ import annotations

import base64
import json
import random
import string
from typing import Any

import pytest

from ferrule.app.app import App
from ferrule.model.persistence import RedactionSettings
from ferrule.runtime.redaction.redactor import KnownSecrets
from tests.infra.clouds.far import Asked, Reply, far
from tests.runtime.executors.lambda_.tools import function_tool
from tests.runtime.executors.queue.tools import calling, run
from tests.runtime.executors.rest.tools import definition
from tests.spec.running_app import run_async

SECRET = "Kv9qZx7w" + "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=1700))
"""As long as a token of Azure, or a private key."""
BEGINNING = SECRET[:8]


@pytest.mark.parametrize("kept", [6, 8, 500, 520, 900, 1700])
@pytest.mark.parametrize("spelled", ["plain", "base64", "hex"])
def test_the_beginning_of_a_secret_is_taken_out_however_long_it_is(kept: int, spelled: str) -> None:
    known = KnownSecrets(RedactionSettings(), {})
    known.add("TOKEN", SECRET)
    text = {
        "plain": SECRET,
        "base64": base64.b64encode(SECRET.encode()).decode(),
        "hex": SECRET.encode().hex(),
    }[spelled][: kept if spelled == "plain" else 2 * kept]
    for before in ("it said ", "… " * 200):
        cleaned, _ = known.text(f"{before}{text}… (cut off)")
        assert text[:6] not in cleaned


def test_many_secrets_that_are_looked_for_one_by_one_lose_their_beginnings_too() -> None:
    known = KnownSecrets(RedactionSettings(well_known=False), {})
    cleaned, _ = known.text(f"it said {SECRET[:900]}…", also=(SECRET,))
    assert BEGINNING not in cleaned


async def _recorded(app: App, invocation_id: str) -> str:
    return repr(list(await app.store.rows_of(invocation_id)))


def _repeating(before: int) -> Any:
    def answer(asked: Asked) -> Reply:
        token = asked.headers["authorization"].removeprefix("Bearer ")
        heads = {"X-Request-Id": token, "Function-Execution-Id": token, "Content-Type": "text/plain"}
        return Reply(500 if asked.path == "/fail" else 200, b"x" * before + token.encode(), heads)

    return answer


@pytest.mark.parametrize("before", [1_980, 1_200, 7_990, 65_500])
def test_what_a_system_repeats_in_ids_and_long_words_is_not_kept_in_part(before: int) -> None:
    @run_async
    async def story() -> None:
        credentials = {"scheme": "bearer-token", "source": "env", "name": "TOKEN"}
        with far(_repeating(before)) as server:
            named: dict[str, Any] = {"base_url": server.url, "credentials": credentials}
            files = (
                definition("GET /ok", tool_id="fine-one", **named),
                definition("GET /fail", tool_id="fail-one", **named),
                function_tool("its-function", "gcp", "projects/p/locations/l/functions/f", credentials=credentials,
                              **{"x-url": f"{server.url}/fail"}),
            )  # fmt: skip
            async with calling(*files, env={"TOKEN": SECRET}) as app:
                for name in ("fine-one", "fail-one", "its-function"):
                    result = await run(app, name)
                    assert BEGINNING not in json.dumps(str(result)), name
                    assert BEGINNING not in await _recorded(app, result.invocation_id), name
            assert len(server.asked) >= 3

    story()


@run_async
async def test_a_secret_in_the_host_of_a_redirect_is_not_told_in_small_letters() -> None:
    secret = "Kv9qZx7wABCdefGHIjklMNO"

    def answer(asked: Asked) -> Reply:
        return Reply(302, b"", {"Location": f"https://{asked.headers['authorization'][7:]}.example/x"})

    with far(answer) as server:
        credentials = {"scheme": "bearer-token", "source": "env", "name": "TOKEN"}
        tool = definition("GET /x", base_url=server.url, tool_id="led-away", credentials=credentials)
        async with calling(tool, env={"TOKEN": secret}) as app:
            result = await run(app, "led-away")
            assert result.error is not None and result.error.error_code == "address_forbidden"
            told = str(result) + await _recorded(app, result.invocation_id)
            assert secret.lower() not in told.lower()
