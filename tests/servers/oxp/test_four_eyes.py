"""A rule that wants another person means another one than the user a call names and than whoever holds the credential."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ferrule.access.keys import Access
from ferrule.model.approval import APPROVE, CALL
from ferrule.model.serving import OxpSettings, ServeSettings
from tests.servers.local_server import Reply
from tests.servers.oxp.oxp_server import POLICY, OxpTestServer, running_oxp_server
from tests.servers.oxp.test_credentials import ENV, SECRET, signed, soon

FOUR_EYES = POLICY.replace('tool = "Money_Send"', 'tool = "Money_Send"\nnot_requester = true')


def key(made: OxpTestServer, name: str, *scopes: str) -> str:
    access = Access(made.stand.app.root)
    return access.add(access.local_owner(), name, scopes)[1]


def sent(made: OxpTestServer, shown: dict[str, str], **context: Any) -> Any:
    request = {"tool_id": "Money.Send", "call_id": "one", "input": {"to": "ann"}}
    return made.call(shown, **request, context=context).json()["result"]


def approved(made: OxpTestServer, call: str, secret: str) -> Reply:
    return made.ask("POST", f"/v1/approvals/{call}/approve", {}, {"Authorization": f"Bearer {secret}"})


def test_who_made_a_call_for_somebody_else_cannot_approve_it_with_another_key_of_theirs(tmp_path: Path) -> None:
    """OXP-40, and the same in another process."""
    ways = ServeSettings()
    with running_oxp_server(tmp_path, ways, policy=FOUR_EYES) as made:
        calling, approving = key(made, "grace", CALL), key(made, "grace", APPROVE)
        bobs, olgas = key(made, "bob", APPROVE), key(made, "olga", APPROVE)
        shown = {"OXP-API-Key": calling}
        call = sent(made, shown, user_id="bob")["error"]["invocation_id"]
        for secret, name in ((approving, "grace"), (bobs, "bob")):
            reply = approved(made, call, secret)
            assert reply.status == 403 and name in reply.json()["detail"], reply
        assert made.ran.calls == []
    with running_oxp_server(tmp_path, ways, policy=FOUR_EYES) as made:
        reply = approved(made, call, approving)
        assert (reply.status, made.ran.calls) == (403, [])
        assert "a credential of grace made the call" in reply.json()["detail"]
        assert approved(made, call, olgas).status == 200
        assert sent(made, shown, user_id="bob")["value"] == {"sent": "ann"}
        assert made.ran.calls == [("send", "ann")]


def test_who_signed_a_token_is_told_apart_from_others_who_call_for_the_same_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OXP-45: all of them come by one secret."""
    monkeypatch.setenv(ENV, SECRET)
    with running_oxp_server(tmp_path, ServeSettings(oxp=OxpSettings(jwt_secret_env=ENV)), policy=FOUR_EYES) as made:
        keys = {name: key(made, name, APPROVE) for name in ("ann", "carl")}
        for name, other in (("ann", "carl"), ("carl", "ann")):
            shown = signed({"exp": soon(), "sub": name})
            request = {"tool_id": "Money.Send", "call_id": f"of {name}", "input": {"to": name}}
            told = made.call(shown, **request, context={"user_id": "bob"}).json()["result"]["error"]
            assert approved(made, told["invocation_id"], keys[name]).status == 403
            assert approved(made, told["invocation_id"], keys[other]).status == 200


def test_whose_credential_made_a_call_may_take_it_back(tmp_path: Path) -> None:
    with running_oxp_server(tmp_path, ServeSettings(), policy=FOUR_EYES) as made:
        shown = {"OXP-API-Key": key(made, "grace", CALL)}
        call = sent(made, shown, user_id="bob")["error"]["invocation_id"]
        bearer = {"Authorization": f"Bearer {key(made, 'grace', APPROVE)}"}
        assert made.ask("POST", f"/v1/approvals/{call}/reject", {"reason": "no"}, bearer).status == 200
        assert sent(made, shown, user_id="bob")["error"]["can_retry"] is False
