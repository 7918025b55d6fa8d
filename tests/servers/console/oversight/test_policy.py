"""The policy page: the rules as they win, what they decided, and what they would say."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import ferrule
from ferrule.access.keys import Access
from ferrule.access.tokens import KeyLimits
from ferrule.servers.console.oversight.policy import cases_sentence, toml_of, write_sentence
from tests.driven import driven
from tests.servers.console.browsing import signed_in, text_of
from tests.servers.local_server import InProcessServer, running_server

HOSTILE = "<script>alert('x')</script>"
POLICY = f"""
[groups]
finance = ["amy"]

[[rules]]
id = "no-reading"
decision = "deny"
tool = "secret"
reason = "{HOSTILE}"

[[rules]]
id = "large"
decision = "ask"
tool = "pay"
when = {{ amount = {{ above = 100 }} }}
approvers = ["group:finance"]

[[rules]]
id = "small"
decision = "allow"
tool = "pay"
"""


@ferrule.tool
def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"


@ferrule.tool(read_only=True)
def secret() -> str:
    """Something."""
    return "x"


@ferrule.tool(read_only=True)
def look() -> str:
    """Look at something."""
    return "seen"


TOOLS = (pay, secret, look)


async def paid(stand: InProcessServer, *amounts: int) -> None:
    surface = stand.app.surface(principal="ada")
    for amount in amounts:
        await surface.call("pay", {"amount": amount}, wait=0)
    await stand.app.store.flush()


@driven
async def test_rules_stand_as_they_win_with_their_hits(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(POLICY)
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        await paid(stand, 1, 2, 500)
        owner = await signed_in(stand)
        page = await owner.see("/policy")
        words = text_of(page)
        assert "3 rules are in force: 1 denies, 1 asks, 1 allows." in words
        assert words.index("no-reading") < words.index("large") < words.index("small")
        assert "amount is above 100" in words
        assert "answered by the group finance" in words
        assert "policy.toml:11" in words
        assert HOSTILE.encode() not in page.body
        found = await owner.value("/policy")
        assert {rule["id"]: (rule["day"], rule["week"]) for rule in found["rules"]["items"]} == {
            "no-reading": (0, 0),
            "large": (1, 1),
            "small": (2, 2),
        }
        asking = await owner.value("/policy?decision=ask")
        assert [rule["id"] for rule in asking["rules"]["items"]] == ["large"]
        part = await owner.see("/policy/rules?text=small", hx_request="true")
        assert b"<html" not in part.body
        assert "small" in text_of(part)


@driven
async def test_a_case_is_asked_by_its_address(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(POLICY)
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        owner = await signed_in(stand)
        query = "tool=pay&arguments=" + quote('{"amount": 500}')
        said = (await owner.value(f"/policy?{query}"))["trial"]["said"]
        assert (said["behavior"], said["rule"]) == ("ask", "large")
        part = await owner.see(f"/policy/case?{query}", hx_request="true")
        assert "large" in text_of(part)
        assert part.headers["hx-push-url"].startswith("/console/policy?tool=pay&arguments=")
        wrong = text_of(await owner.see("/policy/case?tool=pay&arguments=%7B", hx_request="true"))
        assert "This is not JSON" in wrong
        unknown = text_of(await owner.see("/policy/case?tool=pey", hx_request="true"))
        assert "has no tool 'pey'" in unknown


@driven
async def test_a_policy_that_cannot_be_used_says_so_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text('[[rules]]\nid = "odd"\ndecision = "maybe"\n')
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        page = await (await signed_in(stand)).see("/policy")
        words = text_of(page)
        assert page.status == 200
        assert "The policy is invalid, so every call is denied" in words
        assert "policy.toml:3" in words
        assert 'decision = "maybe"' in words


@driven
async def test_cases_and_differences_are_shown(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "next.toml").write_text('[[rules]]\nid = "nobody-pays"\ndecision = "deny"\ntool = "pay"\n')
    (tmp_path / "policy.test.toml").write_text(
        '[[cases]]\nname = "paying is free"\ntool = "pay"\narguments = { amount = 500 }\nexpect = "allow"\n'
    )
    async with running_server(tmp_path, tools=TOOLS, auth=True, toml='[policy]\nshadow = "next.toml"\n') as stand:
        await paid(stand, 1)
        owner = await signed_in(stand)
        found = await owner.value("/policy")
        assert found["differing"].startswith("next.toml would have decided 1 of 1 calls")
        (difference,) = found["decisions"]["differences"]
        page = (await owner.see("/policy")).body.decode()
        assert f'href="/console/invocations/{difference["invocation_id"]}"' in page
        assert found["cases_say"] == "1 of 1 cases fails."
        assert "paying is free" in page


@driven
async def test_others_are_told_why_they_see_nothing(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(POLICY)
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        access = Access(tmp_path)
        owner = access.local_owner()
        tenant = access.add(owner, "tess", ["admin"], (), KeyLimits(tenant="acme"))[1]
        for path in ("/policy", "/agents", "/agents/x", "/agents?view=matrix", "/audit"):
            agent = await (await signed_in(stand, stand.read_token())).see(path)
            assert agent.status == 403
            assert "requires a credential with the scope admin" in text_of(agent)
            page = await (await signed_in(stand, tenant)).see(path)
            assert page.status == 403
            assert "your credential is limited to the tenant acme" in text_of(page)
            assert "no-reading" not in text_of(page)


def test_words() -> None:
    none = {"is_usable": True, "mode": "trusted", "rules": {"deny": 0, "ask": 0, "allow": 0, "passthrough": 0}}
    assert write_sentence(none) == "There are no rules. Other calls follow the mode trusted: everything runs."
    assert cases_sentence({"passed": 2, "failed": 0, "problem": None}) == "2 of 2 cases pass."
    assert toml_of({"id": "x", "tool": ['a"b']}) == '[[rules]]\nid = "x"\ntool = ["a\\"b"]'
