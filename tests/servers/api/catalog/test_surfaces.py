"""The caller's surface over HTTP: its tools, search, and loading what is deferred."""

from __future__ import annotations

from pathlib import Path

from tests.driven import driven
from tests.servers.api.api import TOML, api


@driven
async def test_a_surface_says_who_calls_and_what_there_is(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        found = (await here.ask("ada", "GET", "/v1/surface")).json()
        assert found["caller"]["principal"] == "ada"
        assert found["caller"]["scopes"] == ["call"]
        assert (found["loaded"], found["deferred"]) == (6, 0)


@driven
async def test_tools_are_listed_in_pages_that_neither_repeat_nor_miss_one(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        names, address, pages = [], "/v1/tools?limit=4", 0
        while address:
            reply = await here.ask("ada", "GET", address)
            page = reply.json()
            names += [tool["name"] for tool in page["items"]]
            address, pages = page["next"], pages + 1
            assert ("link" in reply.headers) == bool(address)
        assert names == sorted(["add", "fail", "steps", "pay", "report", "greet"])
        assert pages == 2


@driven
async def test_a_tool_comes_with_its_schemas_and_what_it_needs(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        tool = (await here.ask("ada", "GET", "/v1/tools/add")).json()
        assert tool["input_schema"]["required"] == ["a", "b"]
        assert tool["version"] == "1.0.0"
        assert tool["facts"]["is_read_only"] is True
        assert (await here.ask("ada", "GET", "/v1/tools/pay")).json()["needs_approval"] is True
        assert (await here.ask("ada", "GET", "/v1/tools/shop.add")).json()["name"] == "add"


@driven
async def test_a_hidden_tool_looks_like_one_that_is_not_there(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        hidden = await here.ask("ada", "GET", "/v1/tools/secret_tool", X_Request_Id="same")
        absent = await here.ask("ada", "GET", "/v1/tools/nothing_tool", X_Request_Id="same")
        assert hidden.status == 404
        assert hidden.body.replace(b"secret", b"nothing") == absent.body
        assert hidden.headers.keys() == absent.headers.keys()


@driven
async def test_deferred_tools_are_found_selected_and_then_called(tmp_path: Path) -> None:
    async with api(tmp_path, toml=TOML + "[surface]\ndefer_above = 0\n") as here:
        tool = (await here.ask("ada", "GET", "/v1/tools/add")).json()
        assert (tool["standing"], tool["input_schema"]) == ("deferred", None)
        early = await here.call("ada", "add", {"a": 1, "b": 2})
        assert (early.status, early.json()["error_class"]) == (409, "schema_not_loaded")
        found = (await here.ask("ada", "POST", "/v1/search", {"query": "add two numbers"})).json()
        assert found["matches"][0] == "shop.add"
        selected = (await here.ask("ada", "POST", "/v1/selection", {"tools": ["add", "secret_tool", "no"]})).json()
        assert [tool["name"] for tool in selected["items"]] == ["add"]
        assert selected["missing"] == ["secret_tool", "no"]
        assert (await here.call("ada", "add", {"a": 1, "b": 2})).status == 200
        other = await here.call("ada", "add", {"a": 1, "b": 2}, Ferrule_Run="another")
        assert other.status == 409, "what one run loaded is not loaded in another"


@driven
async def test_who_has_a_deferred_schema_can_call_from_anywhere(tmp_path: Path) -> None:
    """Selections are kept in one process, and the next request may reach another."""
    async with api(tmp_path, toml=TOML + "[surface]\ndefer_above = 0\n") as here:
        assert (await here.ask("ada", "GET", "/v1/tools/add")).json()["digest"] is None
        selected = (await here.ask("ada", "POST", "/v1/selection", {"tools": ["add"]}, Ferrule_Run="one")).json()
        digest = selected["items"][0]["digest"]
        body = {"tool": "add", "arguments": {"a": 1, "b": 2}}
        assert (await here.ask("ada", "POST", "/v1/calls", body, Ferrule_Run="two")).status == 409
        changed = await here.ask("ada", "POST", "/v1/calls", {**body, "digest": "0" * 64}, Ferrule_Run="two")
        assert (changed.status, changed.json()["code"]) == (409, "tool_changed")
        assert (await here.ask("ada", "POST", "/v1/calls", {**body, "digest": digest}, Ferrule_Run="two")).status == 200
        batch = {"calls": [{**body, "digest": digest}, {"tool": "secret_tool", "digest": digest}]}
        states = (await here.ask("ada", "POST", "/v1/batches", batch, Ferrule_Run="three")).json()["calls"]
        assert [state["result"]["is_error"] for state in states] == [False, True]


@driven
async def test_an_unchanged_surface_is_not_sent_twice(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for path in ("/v1/tools", "/v1/tools/add", "/v1/surface"):
            first = await here.ask("ada", "GET", path)
            again = await here.ask("ada", "GET", path, If_None_Match=f'"other", W/{first.headers["etag"]}')
            assert (again.status, again.body) == (304, b"")
            assert again.headers["etag"] == first.headers["etag"]
        await here.ask("oda", "PUT", "/v1/switches/shop.add", {"is_on": False})
        assert (await here.ask("ada", "GET", "/v1/tools", If_None_Match=first.headers["etag"])).status == 200


@driven
async def test_a_tool_says_whether_a_rule_asks_a_person(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        rules = """
            [[rules]]
            id = "reports-ask"
            decision = "ask"
            tool = "report"
            [[rules]]
            id = "some-sums-ask"
            decision = "ask"
            tool = "add"
            when = { a = { above = 100 } }
        """
        with (tmp_path / "policy.toml").open("a") as policy:
            policy.write(rules)
        here.stand.app.reload()
        listed = (await here.ask("ada", "GET", "/v1/tools")).json()["items"]
        told = {tool["name"]: (tool["needs_approval"], tool["asks"]) for tool in listed}
        assert told["report"] == told["pay"] == (True, "always")
        assert told["add"] == (True, "depends")
        assert told["fail"] == (False, "never")
        assert (await here.ask("ada", "GET", "/v1/tools/report")).json()["needs_approval"] is True
        assert (await here.ask("ada", "GET", "/v1/tools?q=report")).json()["items"][0]["needs_approval"] is True
        found = (await here.ask("owner", "GET", "/v1/catalog/search")).json()["items"]
        asks = {tool["name"]: tool["asks"] for tool in found}
        assert (asks["report"], asks["add"], asks["fail"], asks["secret_tool"]) == ("always", "depends", "never", None)
