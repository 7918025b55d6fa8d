"""From settings to a hook: what a program sees, and what is signed with the secret that was named."""

from __future__ import annotations

import json
from pathlib import Path

from ferrule.infra.network.post import is_authentic
from tests.runtime.hooks.fake_provider import running_provider
from tests.runtime.hooks.workspace import RAN, build_hook, call, script


def test_a_program_sees_little_of_the_environment(tmp_path: Path) -> None:
    code = 'import json, os; print(json.dumps({"messages": [], "stop": " ".join(sorted(os.environ))}))'
    result = call(build_hook(tmp_path, kind="command", command=script(tmp_path, code), env=("HOOK_SECRET", "MISSING")))
    assert "HOOK_SECRET" in result.text and "OTHER" not in result.text


def test_an_address_is_asked_signed(tmp_path: Path) -> None:
    """AT-146, AT-154"""
    with running_provider(lambda body: b'{"permission": "deny", "permission_reason": "closed"}') as server:
        result = call(build_hook(tmp_path, kind="http", url=server.url, secret_env="HOOK_SECRET"))
    assert result.error is not None and result.error.error_class == "permission_denied"
    assert "closed" in result.text and not RAN
    (asked,) = server.asked
    header = asked.headers["Ferrule-Signature"]
    assert is_authentic(b"a secret of some length", header, asked.body, now=int(header[2:].partition(",")[0]))
    assert json.loads(asked.body)["observable_input"] == {"city": "Bern"}
