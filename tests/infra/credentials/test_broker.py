"""Token brokers (AML-60, AML-61): each cloud's function, called as this process, and our own way without one."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.clouds.clouds import Clouds
from ferrule.infra.credentials.broker import TokenBroker
from ferrule.infra.credentials.vault import CachedVault
from ferrule.infra.secrets.env import EnvironmentSource
from ferrule.model.credentials import Credentials, read_credentials
from tests.infra.clouds.amazon import REGION, Amazon
from tests.infra.clouds.far import Asked, Reply, far
from tests.infra.clouds.fixtures import Learned, aws, azure, gcp, in_event_loop, local_client
from tests.infra.clouds.google import Google
from tests.infra.clouds.microsoft import FUNCTION, Azure

__all__ = ["aws", "azure", "gcp"]

ARN = f"arn:aws:lambda:{REGION}:123456789012:function:broker"


class Bench:
    """A vault with a broker, and a clock."""

    def __init__(self, env: dict[str, str], *allowed: str) -> None:
        self.env = env
        self.now = 0.0
        self.learned = Learned()
        clouds = Clouds(local_client(*allowed), env, self.learned)
        source = EnvironmentSource(env, clouds)
        self.broker = TokenBroker(clouds, self.learned, lambda: self.now)
        self.vault = CachedVault(lambda name: source, self.learned, lambda: self.now, broker=self.broker)

    async def header(self, said: Credentials, run_id: str = "r1", *, is_confined: bool = False) -> str:
        context = Context(
            invocation_id="i", principal="p", agent=None, tenant="", run_id=run_id, is_confined=is_confined
        )
        return (await self.vault.headers(said, context))["Authorization"]


def oauth2(provider: str, function_id: str, **more: Any) -> Credentials:
    return read_credentials({"scheme": "oauth2", "provider": provider, "function_id": function_id, **more})


def lambda_env(url: str) -> dict[str, str]:
    return {"AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "B", "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": url}


class Lambda:
    """Answers invocations one after the other."""

    def __init__(self, *answers: Reply) -> None:
        self.answers = list(answers)

    def __call__(self, asked: Asked) -> Reply:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def token(text: str, expires_in: Any = 3600) -> Reply:
    return Reply(200, {"access_token": text, "expires_in": expires_in})


@in_event_loop
async def test_a_lambda_is_invoked_with_the_scopes_and_our_own_signature() -> None:
    """AML-61."""
    with far(Lambda(token("tok-1"))) as server:
        on = Bench(lambda_env(server.url))
        said = oauth2("aws", ARN, scopes=["crm.read", "crm.write"])
        assert await on.header(said) == "Bearer tok-1"
        (asked,) = server.asked
        assert asked.path == "/2015-03-31/functions/" + ARN.replace(":", "%3A") + "/invocations"
        assert json.loads(asked.body) == {"scopes": ["crm.read", "crm.write"]}
        assert asked.headers["x-amz-invocation-type"] == "RequestResponse"
        assert f"/{REGION}/lambda/aws4_request" in asked.headers["authorization"]
        assert "tok-1" in on.learned


@in_event_loop
async def test_a_broker_of_amazon_works_at_amazons(aws: Amazon) -> None:
    """AML-61, against moto."""
    aws.tell("config", {"lambda": {"use_docker": False}})
    role = aws.client("iam").create_role(RoleName="r", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("f.py", "def handler(event, context): ...")
    arn = aws.client("lambda").create_function(
        FunctionName="broker", Runtime="python3.11", Role=role, Handler="f.handler", Code={"ZipFile": packed.getvalue()}
    )["FunctionArn"]
    answers = ['{"access_token": "from-moto", "expires_in": 60}']
    aws.tell("static/lambda-simple/response", {"results": answers, "region": REGION})
    assert await Bench(aws.environment()).header(oauth2("aws", arn)) == "Bearer from-moto"


@in_event_loop
async def test_a_token_is_kept_until_it_ends_less_a_margin_in_every_run() -> None:
    """AML-61: the broker says how long."""
    with far(Lambda(token("one", 600), token("two", "600"), token("three", 10), token("four"))) as server:
        on = Bench(lambda_env(server.url))
        said = oauth2("aws", ARN)
        assert await asyncio.gather(*(on.header(said) for _ in range(30))) == ["Bearer one"] * 30
        on.now = 539.0
        assert await on.header(said, "r2") == "Bearer one"
        on.now = 541.0
        assert await on.header(said) == "Bearer two"
        on.now += 541.0
        assert await on.header(said) == "Bearer three"
        on.now += 7.9
        assert await on.header(said) == "Bearer three"
        on.now += 0.2
        assert await on.header(said) == "Bearer four"
        assert len(server.asked) == 4


@in_event_loop
async def test_a_token_without_an_end_is_used_and_not_kept() -> None:
    with far(Lambda(Reply(200, {"access_token": "a"}), token("b", None), token("c", -1), token("d", True))) as server:
        on = Bench(lambda_env(server.url))
        assert [await on.header(oauth2("aws", ARN)) for _ in range(4)] == [f"Bearer {x}" for x in "abcd"]


@in_event_loop
async def test_other_scopes_are_another_token_and_a_refused_one_is_forgotten() -> None:
    with far(Lambda(token("one"), token("two"), token("three"))) as server:
        on = Bench(lambda_env(server.url))
        read, write = oauth2("aws", ARN, scopes=["read"]), oauth2("aws", ARN, scopes=["write"])
        assert [await on.header(read), await on.header(write)] == ["Bearer one", "Bearer two"]
        on.vault.forget_refused(read, Context(invocation_id="i", principal="p", agent=None, tenant=""))
        assert [await on.header(read), await on.header(write)] == ["Bearer three", "Bearer two"]


@pytest.mark.parametrize(
    ("reply", "error_class", "code"),
    [
        (Reply(200, {"token": "canary"}), "credential_missing", "broker_answer"),
        (Reply(200, b"canary, no json"), "credential_missing", "broker_answer"),
        (Reply(200, {"access_token": "canary\r\nX: y", "expires_in": 1}), "credential_missing", "broker_answer"),
        (Reply(200, {"access_token": 7, "expires_in": 1}), "credential_missing", "broker_answer"),
        (Reply(200, [1]), "credential_missing", "broker_answer"),
        (Reply(200, {"x": "canary"}, {"X-Amz-Function-Error": "Unhandled"}), "dependency_unavailable", "broker_failed"),
        (Reply(429, {"__type": "TooManyRequestsException"}), "rate_limited", None),
        (Reply(403, {"__type": "AccessDeniedException"}), "permission_denied", "upstream_denied"),
        (Reply(403, {"__type": "UnrecognizedClientException"}), "credential_missing", "credential_refused"),
        (Reply(500, {}), "dependency_unavailable", None),
    ],
)  # fmt: skip
@in_event_loop
async def test_a_broker_that_fails_is_told_and_its_words_are_not(
    reply: Reply, error_class: str, code: str | None
) -> None:
    with far(Lambda(reply)) as server:
        with pytest.raises(ExecutionFailed) as caught:
            await Bench(lambda_env(server.url)).header(oauth2("aws", ARN))
        assert (caught.value.error_class, caught.value.code) == (error_class, code)
        assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["projects/acme/locations/europe-west1/functions/broker", "projects/acme/functions/broker"]
)
@in_event_loop
async def test_a_function_of_google_is_called_with_an_identity_token_for_its_address(
    gcp: Google, tmp_path: Path, name: str
) -> None:
    """AML-61."""
    on = Bench(gcp.environment(tmp_path / "key.json"))
    assert await on.header(oauth2("gcp", name, scopes=["s"])) == "Bearer ya29.from-the-broker"
    called = gcp.far.asked[-1]
    assert called.path == "/fn" and json.loads(called.body) == {"scopes": ["s"]}
    assert "ya29.from-the-broker" in on.learned and called.bearer in on.learned


@pytest.mark.parametrize(
    "name", ["projects/acme/locations/x/functions/../../y", "arn:aws:lambda", "projects/a/functions/"]
)
@in_event_loop
async def test_a_name_that_is_no_function_of_google_asks_nobody(gcp: Google, tmp_path: Path, name: str) -> None:
    with pytest.raises(ExecutionFailed) as caught:
        await Bench(gcp.environment(tmp_path / "key.json")).header(oauth2("gcp", name))
    assert caught.value.error_class == "setup_required" and not gcp.far.asked


@in_event_loop
async def test_a_function_of_azure_is_called_at_its_address_with_a_token_for_that_host(azure: Azure) -> None:
    """AML-61."""
    on = Bench(azure.environment())
    assert await on.header(oauth2("azure", f"{azure.url}/api/broker")) == "Bearer eyJ.from-the-broker"
    host = azure.url.removeprefix("http://")
    assert set(azure.scopes.values()) == {f"https://{host}/.default"}


@in_event_loop
async def test_a_function_of_azure_is_found_by_its_resource_and_called_with_its_key(azure: Azure) -> None:
    """AML-61."""
    on = Bench(azure.environment())
    assert await on.header(oauth2("azure", FUNCTION)) == "Bearer eyJ.from-the-broker"
    called = azure.far.asked[-1]
    assert called.headers["x-functions-key"] == "the-function-key" and not called.bearer
    assert "the-function-key" in on.learned


@pytest.mark.parametrize(
    "audience", ["https://management.azure.com", "https://vault.azure.net", "https://graph.microsoft.com/"]
)
@in_event_loop
async def test_a_definition_cannot_have_our_rights_at_microsoft_sent_to_itself(azure: Azure, audience: str) -> None:
    on = Bench(azure.environment(), azure.url.removeprefix("http://"))
    with pytest.raises(ExecutionFailed, match="x-audience"):
        await on.header(oauth2("azure", "https://broker.example/api", **{"x-audience": audience}))
    assert not azure.far.asked


@in_event_loop
async def test_a_broker_without_tls_gets_nothing_unless_it_is_listed(azure: Azure) -> None:
    on = Bench(azure.environment(), azure.url.removeprefix("http://"))
    with pytest.raises(ExecutionFailed) as caught:
        await on.header(oauth2("azure", "http://broker.example/api"))
    assert caught.value.code == "address_forbidden" and not azure.far.asked


@in_event_loop
async def test_an_agent_that_is_confined_reaches_a_listed_broker_only() -> None:
    with far(Lambda(token("one"))) as server:
        on = Bench(lambda_env("http://localhost:" + server.url.rpartition(":")[2]), "127.0.0.1")
        with pytest.raises(ExecutionFailed) as caught:
            await on.header(oauth2("aws", ARN), is_confined=True)
        assert caught.value.code == "address_forbidden" and not server.asked


def exchange(url: str, **more: Any) -> Credentials:
    written = {"x-token-url": f"{url}/token", "x-client-id": "the client", "source": "env", "name": "CLIENT_SECRET"}
    return read_credentials({"scheme": "oauth2", **written, **more})


@in_event_loop
async def test_a_clients_secret_is_exchanged_for_a_token() -> None:
    """Our own extension (RFC 6749, 4.4)."""
    with far(Lambda(token("direct"))) as server:
        on = Bench({"CLIENT_SECRET": "s:3cr&t"})
        said = exchange(server.url, scopes=["a", "b"], **{"x-audience": "https://api.example"})
        assert await on.header(said) == "Bearer direct"
        (asked,) = server.asked
        assert asked.form == {"grant_type": "client_credentials", "scope": "a b", "audience": "https://api.example"}
        basic = asked.headers["authorization"].removeprefix("Basic ")
        assert base64.b64decode(basic).decode() == "the%20client:s%3A3cr%26t"
        assert {"s:3cr&t", basic, "direct"} <= on.learned.keys()


@in_event_loop
async def test_a_clients_secret_that_is_refused_is_read_anew() -> None:
    def answer(asked: Asked) -> Reply:
        pair = base64.b64decode(asked.headers["authorization"].removeprefix("Basic ")).decode()
        return token("good") if pair.endswith(":new") else Reply(401, {"error": "invalid_client"})

    with far(answer) as server:
        on = Bench({"CLIENT_SECRET": "old"})
        with pytest.raises(ExecutionFailed) as caught:
            await on.header(exchange(server.url))
        assert (caught.value.error_class, caught.value.code) == ("credential_missing", "credential_refused")
        on.env["CLIENT_SECRET"] = "new"
        assert await on.header(exchange(server.url)) == "Bearer good"


@in_event_loop
async def test_a_clients_secret_that_is_missing_asks_nobody() -> None:
    """AML-72."""
    with far(Lambda(token("direct"))) as server:
        on = Bench({})
        assert on.vault.missing(exchange(server.url)) == ("CLIENT_SECRET",)
        with pytest.raises(ExecutionFailed) as caught:
            await on.header(exchange(server.url))
        assert caught.value.error_class == "credential_missing" and not server.asked
