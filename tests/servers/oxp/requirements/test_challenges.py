"""A user who has to authorize first is sent there, can be waited for, and then the call works (OXP-38, OXP-41)."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.infra.clouds.far import Asked, Reply, far
from tests.servers.oxp.oxp_server import BINDINGS, running_oxp_server

TOKENS = {"access_token": "granted-0123456789", "token_type": "bearer", "expires_in": 3600, "scope": "mail.read"}


def toml(url: str) -> str:
    return (
        f'{BINDINGS}\n[network]\nallow = ["127.0.0.1"]\n[oauth.google]\nclient_id = "c"\n'
        f'authorization_url = "{url}/authorize"\ntoken_url = "{url}/token"\n'
    )


def test_a_challenge_can_be_followed_polled_and_forgotten(tmp_path: Path) -> None:
    """OXP-38, OXP-41"""

    def answer(asked: Asked) -> Reply:
        return Reply(200, TOKENS, {"Content-Type": "application/json"})

    with far(answer) as provider, running_oxp_server(tmp_path, toml=toml(provider.url)) as made:
        request = {
            "tool_id": "Mail.Read",
            "call_id": "one-and-the-same",
            "context": {"user_id": "ada", "secrets": [{"id": "POST_KEY", "value": "key-0123456789"}]},
        }
        refused = made.call(**request)
        assert refused.status == 400
        missing = refused.json()["missing_requirements"]
        assert list(missing) == ["authorization"]
        (challenge,) = missing["authorization"]
        assert set(challenge) == {"id", "url", "check_url"}
        asked = parse_qs(urlsplit(challenge["url"]).query)
        assert asked["scope"] == ["mail.read"]
        check = urlsplit(challenge["check_url"])
        assert check.netloc == "localhost:8787"
        assert made.ask("GET", check.path).json()["status"] == "pending"
        made.run(made.stand.app.authorizations.complete(asked["state"][0], "code"))
        assert made.ask("GET", check.path).json()["status"] == "completed"
        value = made.call(**request).json()["result"]["value"]
        assert value == {"for": "ada", "echo": "[REDACTED]"}
        assert made.ran.credentials[-1]["google"] == "granted-0123456789"
        other = made.call(**{**request, "context": {**request["context"], "user_id": "bob"}})  # type: ignore[dict-item]
        assert other.status == 400, "what ada authorized is not bob's"


def test_a_token_that_comes_with_the_call_is_used_instead(tmp_path: Path) -> None:
    """OXP-38: and goes to this tool only."""
    with (
        far(lambda asked: Reply(200, TOKENS)) as provider,
        running_oxp_server(tmp_path, toml=toml(provider.url)) as made,
    ):
        context = {
            "user_id": "ada",
            "authorization": [{"id": "google", "token": "brought-0123456789"}],
            "secrets": [{"id": "POST_KEY", "value": "key-0123456789"}],
        }
        assert made.call(tool_id="Mail.Read", context=context).json()["result"]["success"] is True
        assert made.ran.credentials == [{"google": "brought-0123456789", "POST_KEY": "key-0123456789"}]
        assert made.call(tool_id="Mail.Read", context={**context, "authorization": []}).status == 400
        assert provider.asked == []


def test_an_approved_call_waits_for_its_token_to_be_brought_again(tmp_path: Path) -> None:
    """OXP-42: nothing that was handed over is kept while a call waits."""
    policy = '[[rules]]\nid = "asked"\ndecision = "ask"\ntool = "Mail_Read"\n'
    context = {
        "user_id": "ada",
        "authorization": [{"id": "google", "token": "brought-0123456789"}],
        "secrets": [{"id": "POST_KEY", "value": "key-0123456789"}],
    }
    with running_oxp_server(tmp_path, policy=policy) as made:
        first = made.call(tool_id="Mail.Read", call_id="asked", context=context).json()["result"]["error"]
        assert first["pending"] is True
        from tests.servers.oxp.test_request_table import approve  # noqa: PLC0415

        approve(made, first["invocation_id"])
        assert made.ran.credentials == []
        done = made.call(tool_id="Mail.Read", call_id="asked", context=context).json()["result"]
        assert done["value"] == {"for": "ada", "echo": "[REDACTED]"}
        assert made.call(tool_id="Mail.Read", call_id="asked", context=context).json()["result"] == done
        assert len(made.ran.credentials) == 1
        made.run(made.stand.app.store.flush())
        stored = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
        assert b"brought-0123456789" not in stored and b"key-0123456789" not in stored
