"""Secrets of every scheme and source, shown to a system that repeats them in every encoding: they are written nowhere.

A real workspace on disk, a sink that tells all it knows, logs at their most talkative. Then every byte of every file, result,
event and log line is looked through (AML-71).
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec

from ferrule.app.opening import open_app
from ferrule.model.result import Result
from tests.infra.clouds.amazon import REGION, Amazon
from tests.infra.clouds.far import Asked, Far, Reply, far
from tests.infra.clouds.fixtures import aws, azure, gcp, in_event_loop
from tests.infra.clouds.google import Google
from tests.infra.clouds.microsoft import Azure
from tests.journeys.canaries import found_in
from tests.journeys.test_canaries import listening
from tests.runtime.executors.rest.tools import ALLOW, definition

__all__ = ["aws", "azure", "gcp"]


def canary(number: int) -> str:
    return f"Kv9qZx7w{number:03}noiseJt4mWb8k"


BROKEN_KEY = f"-----BEGIN PRIVATE KEY-----\n{canary(9)}\n-----END PRIVATE KEY-----\n"
SETTINGS = """namespace = "n"
[network]
allow = ["127.0.0.1"]
[results]
max_inline_bytes = 400
[[sinks]]
kind = "jsonl"
path = "events.jsonl"
level = "full"
"""


def repeats(asked: Asked) -> Reply:
    """Everything it was shown, in every way; `/fail` and `/refuse` do it in errors."""
    if "/2015-03-31/functions/" in asked.path and "broker" in asked.path:
        return Reply(200, {"access_token": canary(6), "expires_in": 3600})
    said = json.dumps(asked.headers) + asked.path + unquote(asked.path) + asked.body.decode("utf-8", "replace")
    encoded = base64.b64encode(said.encode()).decode()
    body = {"headers": asked.headers, "as text": said, "encoded": encoded, "hex": said.encode().hex(), asked.bearer: 1}
    status = {"/fail": 500, "/refuse": 401, "/wrong": 422}.get(asked.path.partition("?")[0], 200)
    heads = {
        "Content-Type": "application/json",
        "WWW-Authenticate": f"Bearer error={encoded[:200]}",
        "Location": encoded[:100],
    }
    return Reply(status, body, heads)


def schemes(azure_url: str) -> dict[str, dict[str, Any]]:
    arn = f"arn:aws:lambda:{REGION}:123456789012:function:broker"
    return {
        "key": {"scheme": "api-key", "header": "X-Key", "source": "env", "name": "KEYS", "key": "live"},
        "bearer": {"scheme": "bearer-token", "source": "env", "name": "FROM_FILE"},
        "account": {"scheme": "service-account", "source": "aws_secrets_manager", "secret_id": "shop"},
        "google": {"scheme": "bearer-token", "source": "gcp_secret_manager", "project": "acme", "secret": "shop"},
        "azure": {"scheme": "bearer-token", "source": "azure_key_vault", "vault_url": azure_url, "secret_name": "shop"},
        "oauth": {"scheme": "oauth2", "provider": "aws", "function_id": arn},
        "query": {"scheme": "api-key", "header": "key", "x-in": "query", "source": "env", "name": "IN_QUERY"},
        "cookie": {"scheme": "api-key", "header": "sid", "x-in": "cookie", "source": "env", "name": "IN_COOKIE"},
        "basic": {"scheme": "api-key", "header": "Authorization", "x-encode": "basic", "source": "env", "name": "PAIR"},
        "several": {
            "scheme": "bearer-token",
            "source": "env",
            "name": "FROM_FILE",
            "x-and": [{"scheme": "api-key", "header": "app", "x-in": "query", "source": "env", "name": "APP"}],
        },
        "broken": {"scheme": "api-key", "header": "X-Key", "source": "env", "name": "BROKEN"},
        "shapeless": {"scheme": "bearer-token", "source": "env", "name": "KEYS", "key": "absent"},
    }


def lay_out(root: Path, server: Far, azure_url: str) -> list[str]:
    (root / "tools").mkdir()
    (root / "ferrule.toml").write_text(SETTINGS)
    (root / "policy.toml").write_text(ALLOW)
    (root / ".env").write_text(f"FROM_FILE='{canary(2)}'\n")
    names = []
    for scheme, credentials in schemes(azure_url).items():
        for way in ("echo", "fail", "refuse", "wrong"):
            name = f"{scheme}-{way}"
            text = definition(f"GET /{way}", base_url=server.url, tool_id=name, credentials=credentials)
            (root / "tools" / f"{name}.tool.md").write_text(text)
            names.append(name)
    function = {
        "type": "lambda",
        "provider": "aws",
        "function_id": f"arn:aws:lambda:{REGION}:123456789012:function:repeat",
        "invocation_type": "RequestResponse",
        "credentials": {"scheme": "service-account", "source": "env", "name": "AWS_ACCOUNT"},
    }
    plain = json.loads(definition("GET /x", base_url=server.url, tool_id="of-lambda").split("---\n")[1])
    (root / "tools" / "of-lambda.tool.md").write_text(f"---\n{json.dumps({**plain, 'transport': function})}\n---\n")
    return [*names, "of-lambda"]


@in_event_loop
async def test_no_secret_of_any_scheme_is_written_or_told_anywhere(
    aws: Amazon, gcp: Google, azure: Azure, tmp_path: Path
) -> None:
    """AML-71."""
    aws.client("secretsmanager").create_secret(Name="shop", SecretString=canary(3))
    gcp.secrets["acme/shop/latest"] = canary(4).encode()
    azure.secrets["shop"] = canary(5)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    root = tmp_path / "workspace"
    root.mkdir()
    with far(repeats) as server, listening() as lines:
        env = {
            **aws.environment(),
            **gcp.environment(elsewhere / "key.json"),
            **azure.environment(),
            "AWS_ACCESS_KEY_ID": f"AKIA{canary(7)}",
            "AWS_SECRET_ACCESS_KEY": canary(7),
            "AWS_SESSION_TOKEN": canary(8),
            "AWS_ENDPOINT_URL_LAMBDA": server.url,
            "HOME": str(elsewhere),
            "KEYS": json.dumps({"live": canary(1), "other": canary(10)}),
            "IN_QUERY": f"{canary(14)}&é",
            "IN_COOKIE": canary(15),
            "PAIR": f"ann:{canary(16)}",
            "APP": canary(17),
            "BROKEN": f"{canary(11)}\r\nX-Evil: 1",
            "AWS_ACCOUNT": json.dumps({"access_key_id": canary(12), "secret_access_key": canary(13), "region": REGION}),
        }
        names = lay_out(root, server, azure.url)
        told: list[bytes] = []
        errors = 0
        async with open_app(root, environment=env) as app:
            surface = app.surface()
            for name in names:
                result = await surface.call(name, {})
                assert isinstance(result, Result)
                errors += result.error is not None
                told += [repr(result).encode(), msgspec.json.encode(result.to_record(), enc_hook=repr)]
        shown = {value for asked in server.asked for value in (asked.headers.get("x-key"), asked.bearer)}
        assert {canary(1), canary(2), canary(3), canary(4), canary(5), canary(6)} <= shown, "each was really used"
        paths = " ".join(unquote(asked.path) for asked in server.asked)
        assert all(f"{name}={canary(number)}" in paths for name, number in (("key", 14), ("app", 17)))
        heads = [asked.headers for asked in server.asked]
        basic = base64.b64encode(f"ann:{canary(16)}".encode()).decode()
        assert any(head.get("cookie") == f"sid={canary(15)}" for head in heads)
        assert any(head.get("authorization") == f"Basic {basic}" for head in heads)
        assert errors > len(names) / 2
        told.append(lines.text.getvalue().encode("utf-8", "replace"))
    files = [file for file in root.rglob("*") if file.is_file() and file.name != ".env"]
    assert any(file.name == "events.jsonl" and file.stat().st_size for file in files)
    for what, said in [*((str(file), file.read_bytes()) for file in files), *(("told", each) for each in told)]:
        assert (where := found_in(said)) is None, f"{what}: {where}"
