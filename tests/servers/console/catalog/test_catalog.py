"""The catalog, as people see it in the console: lists, filters, jumping, and news of changes."""

from __future__ import annotations

from pathlib import Path

import msgspec

import ferrule
from ferrule.model.approval import ADMIN, APPROVE, CALL
from tests.driven import driven
from tests.servers.api.catalog.catalog_samples import write
from tests.servers.console.browsing import signed_in, text_of
from tests.servers.console.catalog.catalog_samples import POLICY, TOOLS, names, somebody
from tests.servers.local_server import running_server

BAD = '"><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}'


@driven
async def test_the_catalog_lists_every_tool_with_filters_and_counts(tmp_path: Path) -> None:
    write(tmp_path, "refund-order")
    async with running_server(tmp_path, tools=TOOLS, auth=True, toml='namespace = "shop"') as stand:
        owner = await signed_in(stand)
        page = await owner.value("/catalog")
        assert names(page) == ["refund-order", "shop.add", "shop.hidden", "shop.pay"]
        assert page["sentence"] == "4 tools."
        chips = {chip["label"]: chip for chip in page["chips"]}
        assert (chips["Reads"]["count"], chips["Approval by definition"]["count"]) == (2, 1)
        reading = await owner.value(chips["Reads"]["address"].removeprefix("/console"))
        assert names(reading) == ["shop.add", "shop.hidden"]
        assert reading["sentence"] == "2 of 4 tools match."
        (chosen,) = [chip for chip in reading["chips"] if chip["is_chosen"]]
        assert names(await owner.value(chosen["address"].removeprefix("/console"))) == names(page), (
            "a chip takes itself back"
        )
        nobody = next(choice for choice in page["choices"] if choice["name"] == "owner")["options"][0]
        assert (nobody["label"], nobody["count"]) == ("none", 3)
        assert len(names(await owner.value("/catalog?owner=-"))) == 3
        shown = await owner.see("/catalog")
        assert "refund-order" in text_of(shown)
        assert b'<option value="aml">AML (1)</option>' in shown.body


@driven
async def test_typing_gives_the_part_that_changes_and_its_address(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True, toml='namespace = "shop"') as stand:
        owner = await signed_in(stand)
        found = await owner.see("/catalog?q=numb&risk=&dialect=", hx_request="true")
        assert found.headers["hx-replace-url"] == "/console/catalog?q=numb"
        assert b"<html" not in found.body
        assert "shop.add" in text_of(found)
        assert "shop.pay" not in text_of(found)
        restored = await owner.see("/catalog?q=numb", hx_request="true", hx_history_restore_request="true")
        assert b"<html" in restored.body
        none = text_of(await owner.see("/catalog?q=zzzz"))
        assert "No tool matches “zzzz”." in none


@driven
async def test_an_empty_catalog_teaches(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        shown = text_of(await (await signed_in(stand)).see("/catalog"))
        assert "There are no tools yet." in shown
        assert "ferrule init" in shown


@driven
async def test_others_see_the_tools_of_their_own_surface(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(POLICY)
    async with running_server(tmp_path, tools=TOOLS, auth=True, toml='namespace = "shop"') as stand:
        cal = await somebody(stand, "cal", CALL)
        page = await cal.value("/catalog")
        assert [row["name"] for row in page["rows"]] == ["add", "pay"]
        assert "hidden" not in text_of(await cal.see("/catalog"))
        assert [row["name"] for row in (await cal.value("/catalog?q=number"))["rows"]] == ["add"]
        assert (await cal.value("/catalog?q=hidden"))["rows"] == []
        assert "You may use it, and a person is asked first." in text_of(await cal.see("/catalog/shop.pay"))
        for path in ("/catalog/shop.hidden", "/catalog/shop.nothing"):
            gone = await cal.see(path)
            assert gone.status == 404
        assert (await cal.send("/catalog/shop.add", {"to": "off"})).status == 403
        assert "Diagnostics" not in text_of(await cal.see("/catalog?view=diagnostics"))
        tenant = await somebody(stand, "oda", ADMIN, tenant="acme")
        assert [row["name"] for row in (await tenant.value("/catalog"))["rows"]] == ["add", "hidden", "pay"]
        amy = await somebody(stand, "amy", APPROVE)
        assert "scope call or admin" in text_of(await amy.see("/catalog"))
        assert (await amy.see("/catalog/shop.add")).status == 403


@driven
async def test_nothing_of_a_definition_acts_on_a_page(tmp_path: Path) -> None:
    quoted = msgspec.json.encode(BAD).decode()
    said = ("type: string", f"description: {quoted}", f"enum: [{quoted}]", f"default: {quoted}")
    more = "\n        ".join((f"\n      {quoted}:", *said))
    file = write(tmp_path, "evil", description=f"{BAD} [x](javascript:alert(1)) **{BAD}**", owner=quoted, more=more)
    file.write_text(f"{file.read_text()}\n{BAD}\n\n[y](javascript:alert(1))\n")
    tool = ferrule.tool(title=BAD, tags=[BAD], search_hint=BAD, description=BAD)(_worse)
    paths = (
        "/catalog",
        "/catalog/evil",
        "/catalog/shop._worse",
        "/parts/jump?q=evil",
        "/catalog?q=%22%3E%3Cscript%3Ealert(1)",
    )
    whole = ("/catalog?owner=%22%3E%3Cscript%3E", "/catalog/evil?confirm=off&version=%3Cscript%3E",
             "/catalog?view=diagnostics&file=%3Cscript%3E")  # fmt: skip
    async with running_server(tmp_path, tools=(tool,), auth=True, toml='namespace = "shop"') as stand:
        owner, cal = await signed_in(stand), await somebody(stand, "cal", CALL)
        for person, path in [*((owner, path) for path in (*paths, *whole)), *((cal, path) for path in paths)]:
            reply = await person.see(path)
            assert reply.status == 200, path
            for harm in (b"<script>alert", b"<img src=x", b'href="javascript', b"49}}", b' onerror="'):
                assert harm not in reply.body, (path, harm)
        assert (await owner.see("/catalog/evil")).body.count(b"&lt;script&gt;alert(1)") > 4, (
            "it is shown as it is written"
        )


def _worse(value: str) -> str:
    return value


@driven
async def test_jumping_finds_tools_by_what_they_do(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(POLICY)
    async with running_server(tmp_path, tools=TOOLS, auth=True, toml='namespace = "shop"') as stand:
        owner, cal = await signed_in(stand), await somebody(stand, "cal", CALL)
        assert b'href="/console/catalog/shop.add"' in (await owner.see("/parts/jump?q=numbers")).body
        assert b"shop.hidden" in (await owner.see("/parts/jump?q=hidden")).body
        assert b"hidden" not in (await cal.see("/parts/jump?q=hidden")).body
        assert b'href="/console/catalog/shop.add"' in (await cal.see("/parts/jump?q=numbers")).body
        assert b"/console/invocations/inv_1%2F" in (await owner.see("/parts/jump?q=inv_1/")).body
        amy = await somebody(stand, "amy", APPROVE)
        assert (await amy.see("/parts/jump?q=numbers")).body.strip() == b""


@driven
async def test_a_page_learns_that_the_catalog_has_changed(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        owner = await signed_in(stand)
        digest = (await owner.value("/catalog"))["digest"]
        assert (await owner.see(f"/parts/catalog?digest={digest}")).body.strip() == b""
        assert b"has changed" in (await owner.see("/parts/catalog?digest=other")).body


ASKING = """
[[rules]]
id = "adding-asks"
decision = "ask"
tool = "add"

[[rules]]
id = "no-large-sums"
decision = "deny"
tool = "pay"
when = { amount = { above = 100 } }

[[rules]]
id = "hidden-asks-sometimes"
decision = "ask"
tool = "looking"
when = { far = true }
"""


@ferrule.tool(read_only=True)
def looking(far: bool) -> str:
    """Look around."""
    return ""


@driven
async def test_what_the_policy_asks_a_person_about_is_told_wherever_tools_are_shown(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(ASKING)
    async with running_server(tmp_path, tools=(*TOOLS, looking), auth=True, toml='namespace = "shop"') as stand:
        wanted = {
            "shop.add": "always asks",
            "shop.hidden": "none",
            "shop.looking": "may ask",
            "shop.pay": "may ask",
        }
        for person in (await signed_in(stand), await somebody(stand, "cal", CALL)):
            rows = (await person.value("/catalog"))["rows"]
            assert {row["tool_id"]: row["approval"] for row in rows} == wanted
        cal = await somebody(stand, "cal", CALL)
        assert "You may use it, and a person is asked first." in text_of(await cal.see("/catalog/shop.add"))
        assert "whether a person is asked first depends" in text_of(await cal.see("/catalog/shop.looking"))
        assert "You may use it. " in text_of(await cal.see("/catalog/shop.hidden"))
        needs = {tool["name"]: tool["asks"] for tool in (await cal.value("/try"))["tools"]}
        assert needs == {"add": "always", "hidden": "never", "looking": "depends", "pay": "depends"}
        assert "maybe a person" in text_of(await cal.see("/try"))
