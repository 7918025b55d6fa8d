"""Trying tools with a real browser: every kind of field in step with its JSON, checks while somebody types, runs as they go."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, FilePayload, Locator, Page, expect

from ferrule.access.keys import Access
from ferrule.access.tokens import KeyLimits
from ferrule.model.approval import CALL
from ferrule.servers.console.catalog.forms import form_of
from tests.servers.console.browser.browser import browsing, person
from tests.servers.local_server import ServerProcess, running_process

FUNCTIONS = '''
import asyncio
from typing import Annotated, Any, Literal
import ferrule
from msgspec import Struct, Meta

class Line(Struct):
    book: str
    copies: Annotated[int, Meta(ge=1, le=9)] = 1

@ferrule.tool(read_only=True, open_world=False)
def order(lines: list[Line], how: Literal["post", "courier"], note: str | None = None, gift: bool = False) -> dict[str, Any]:
    """Order books."""
    return {"count": sum(line.copies for line in lines), "how": how}

@ferrule.tool(read_only=True, open_world=False)
async def slow(context: ferrule.Context, file: str) -> str:
    """Count until a file is there."""
    from pathlib import Path
    for number in range(2000):
        context.progress(f"step {number + 1}", percent=min(99, number + 1))
        if Path(file).exists():
            return "it is there"
        await asyncio.sleep(0.02)
    return "never"

@ferrule.tool(read_only=True, open_world=False)
def echo(text: str, number: float = 1.5) -> dict[str, Any]:
    """Say it again."""
    return {"text": text, "number": number}

@ferrule.tool(approval_required=True)
def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"
'''
WIDE = {
    "type": "object",
    "properties": {f"field_{number}": {"type": "string", "description": "One of many."} for number in range(500)},
}


class Place(NamedTuple):
    folder: Path
    server: ServerProcess
    browser: Browser
    page: Page


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("trying")
    (folder / "ferrule.toml").write_text('namespace = "shop"\n[functions]\nmodules = ["functions.py"]\n')
    (folder / "functions.py").write_text(FUNCTIONS)
    with running_process(folder) as server, browsing() as browser:
        owner = server.token(folder, "owner.token")
        with person(browser, server.url, owner) as page:
            yield Place(folder, server, browser, page)


def opened(place: Place, tool: str) -> Page:
    """The page of a tool, after its first check."""
    place.page.goto(f"{place.server.url}/console/try/{tool}")
    place.page.wait_for_selector("#trying[data-checked]")
    return place.page


def written(page: Page) -> Any:
    return json.loads(page.input_value("#try-raw"))


SHAPES: dict[str, Any] = {
    shape["name"]: shape for shape in json.loads((Path(__file__).parent / "trying_shapes.json").read_text())
}
"""Each: a schema, a value, what somebody does at the form, and the value after that. Values are written as text: numbers stay
as they are typed."""


def one(schema: dict[str, Any], *, required: bool = False) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, **({"required": ["x"]} if required else {})}


SHOW = """([nodes, text]) => {
  document.querySelector('#probe')?.remove();
  const box = document.createElement('fieldset');
  box.id = 'probe';
  document.querySelector('main').prepend(box);
  window.probe = new window.ferrule.Form(box, nodes, () => {});
  window.probe.show(window.ferrule.json.parse(text));
}"""
VALUE = "() => window.ferrule.json.write(window.probe.value)"
AGAIN = """(text) => {
  const controls = () => [...document.querySelectorAll('#probe input, #probe select, #probe textarea')];
  const plain = text => { try { return JSON.stringify(JSON.parse(text)); } catch { return text; } };
  const seen = () => controls().map(each => each.type === 'checkbox' ? each.checked : plain(each.value));
  const before = seen();
  window.probe.show(window.ferrule.json.parse(text));
  return [before, seen()];
}"""


def same_text(text: str) -> str:
    """JSON without its spaces, numbers as they are written."""
    return json.dumps(json.loads(text, parse_float=lambda digits: f"#{digits}", parse_int=lambda digits: f"#{digits}"))


@pytest.fixture(scope="module")
def probing(place: Place) -> Page:
    return opened(place, "echo")


def control(box: Locator, label: str, kinds: str) -> Locator:
    """The control that a person would find by its label; of several the innermost."""
    if " " in label:
        return box.get_by_label(label).last
    field = box.locator(f".field:has(> .label .name:text-is({json.dumps(label)}))").last
    return field.locator(", ".join(f"> {kind}, > .check > {kind}, > .members > {kind}" for kind in kinds.split())).last


@pytest.mark.parametrize("name", SHAPES)
def test_a_form_and_its_json_say_the_same(name: str, probing: Page) -> None:
    shape = SHAPES[name]
    before, after = shape["before"], shape["after"]
    probing.evaluate(SHOW, [form_of(shape["schema"])["nodes"], before])
    assert same_text(probing.evaluate(VALUE)) == same_text(before)  # showing a value changes nothing of it
    box = probing.locator("#probe")
    for act, label, text in shape["acts"]:
        match act:
            case "press":
                box.get_by_role("button", name=label, exact=True).first.click()
            case "fill":
                control(box, label, "input textarea").fill(text)
            case "select":
                control(box, label, "select").select_option(label=text)
            case "check" | "uncheck":
                control(box, label, "input").set_checked(act == "check")
    assert same_text(probing.evaluate(VALUE)) == same_text(after)
    shown, again = probing.evaluate(AGAIN, after)
    if not shape.get("is_redrawn"):
        assert shown == again  # the form that was filled in is the form of that value


def test_numbers_names_and_mistakes_of_json_are_read_as_they_are(probing: Page) -> None:
    read = """text => {
      try { return window.ferrule.json.write(window.ferrule.json.parse(text)); } catch (error) { return `! ${error.message}`; }
    }"""
    for text in ('{"__proto__": {"a": 1}}', "[1.0, -0, 1E+2, 1e400]", '"\\u0041\\ud83d\\ude00\\n"', "[]", "{}", "null"):
        assert same_text(probing.evaluate(read, text).replace("1e400", "9")) == same_text(text.replace("1e400", "9"))
    for text in (
        "",
        "{",
        '{"a" 1}',
        "[1,]",
        "01",
        "+1",
        '"a\nb"',
        "nul",
        "{} x",
        '"\\x"',
        "'a'",
        "[" * 500 + "]" * 500,
    ):
        assert probing.evaluate(read, text).startswith("! line ")
    assert probing.evaluate("() => ({}).a === undefined && ({}).polluted === undefined") is True


def test_what_is_typed_is_checked_in_the_servers_words_and_kept_in_step(place: Place) -> None:
    page = opened(place, "order")
    expect(page.locator("#try-why")).to_contain_text("to fill in")
    assert page.locator(".field.bad").count() == 0  # nobody did anything wrong yet
    page.get_by_role("button", name="Add to lines").click()
    page.get_by_label("book").fill("Emma")
    page.get_by_label("copies").fill("12")
    expect(page.locator(".field.bad .err")).to_contain_text("'lines[0].copies' must be 9 or less; it is 12")
    expect(page.get_by_label("copies")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#try-run")).to_have_attribute("aria-disabled", "true")
    page.get_by_label("copies").fill("3")
    page.get_by_label("how").select_option(label="post")
    expect(page.locator("#try-why")).to_contain_text("valid")
    expect(page.locator("#try-decision")).to_contain_text("allow")
    assert page.evaluate(
        "() => [...document.querySelectorAll('use')].every(one => document.querySelector(one.getAttribute('href')))"
    )
    assert written(page)["lines"] == [{"book": "Emma", "copies": 3}]
    page.fill("#try-raw", '{"lines": [{"book": "Persuasion"}], "how": "courier", "more": 1}')
    expect(page.get_by_label("book")).to_have_value("Persuasion")
    expect(page.get_by_label("how").locator("option:checked")).to_have_text("courier")
    expect(page.locator(".field.bad")).to_contain_text("'more' is not a field of this tool")
    page.fill("#try-raw", '{"lines": [')
    expect(page.locator("#try-raw-says")).to_contain_text("This is not JSON: line 1")
    expect(page.locator("#try-fields")).to_have_attribute("disabled", "")
    page.get_by_role("button", name="Reset").click()
    expect(page.locator("#try-fields")).not_to_have_attribute("disabled", "")


def test_a_run_shows_its_progress_is_cancelled_and_stays_in_the_address(place: Place) -> None:
    page = opened(place, "slow")
    page.get_by_label("file").fill(str(place.folder / "never"))
    page.keyboard.press("Enter")  # runs nothing
    expect(page.locator("#try-why")).to_contain_text("valid")
    assert page.locator("[data-run]").count() == 0
    page.locator("#try-run").dblclick()
    expect(page.locator("[data-run] [data-percent]")).to_contain_text("%")
    expect(page.locator("[data-run] [data-steps] li").first).to_contain_text("step")
    page.get_by_role("button", name="Cancel run").click()
    expect(page.locator("[data-run] .pill")).to_contain_text("canceled")
    assert page.locator("[data-run]").count() == 1  # two clicks were one call
    there = place.folder / "there"
    page.get_by_label("file").fill(str(there))
    expect(page.locator("#try-run")).not_to_have_attribute("aria-busy", "true")
    page.locator("#try-run").click()
    expect(page.locator("[data-number='2'] [data-percent]")).to_contain_text("%")
    there.write_text("")
    expect(page.locator("[data-number='2'] .pill")).to_contain_text("succeeded")
    page.locator("[data-number='2']").get_by_role("tab", name="Events").click()
    expect(page.locator("[data-number='2'] table caption")).to_contain_text("Events")
    assert page.url.count("run=inv_") == 2
    page.reload()
    assert page.locator("[data-run]").count() == 2
    expect(page.get_by_label("file")).to_have_value(str(there))


def test_a_call_that_waits_says_for_whom_and_ends_when_somebody_agrees(place: Place) -> None:
    access = Access(place.folder)
    _, secret = access.add(access.local_owner(), "ada", [CALL], (), KeyLimits())
    with person(place.browser, place.server.url, secret) as page:
        page.goto(f"{place.server.url}/console/try/pay")
        page.get_by_label("amount").fill("5")
        expect(page.locator("#try-decision")).to_contain_text("ask")
        page.locator("#try-run").click()
        link = page.get_by_role("link", name="Open it in the inbox")
        run = str(link.get_attribute("href")).rpartition("/")[2]
        owner = place.server.token(place.folder, "owner.token")
        headers = {"Authorization": f"Bearer {owner}", "Content-Type": "application/json"}
        address = f"{place.server.url}/v1/approvals/{run}/approve"
        with urllib.request.urlopen(urllib.request.Request(address, b"{}", headers), timeout=30) as answer:
            assert answer.status in (200, 202)
        expect(page.locator("[data-run] .pill")).to_contain_text("succeeded", timeout=15_000)
        expect(page.locator("[data-run]")).to_contain_text("paid 5")


def test_what_is_copied_works_where_it_is_pasted(place: Place) -> None:
    page = opened(place, "echo")
    text = 'it\'s $(touch pwned) `x` "q" \\ JSON \u202e\n!'
    page.fill("#try-raw", json.dumps({"text": text, "number": 2.5}))
    expect(page.locator("#try-why")).to_contain_text("valid")
    expect(page.locator("#snippet-curl")).to_contain_text("touch pwned")
    for name, words in (("curl", ["sh", "-c"]), ("python", [sys.executable, "-c"])):
        program = page.locator(f"#snippet-{name}").text_content()
        assert program is not None
        done = subprocess.run(
            [*words, program], cwd=place.folder, capture_output=True, text=True, timeout=30, check=True
        )
        assert json.loads(done.stdout)["result"]["structured_content"] == {"text": text, "number": 2.5}
    assert not (place.folder / "pwned").exists()
    message = json.loads(str(page.locator("#snippet-mcp").text_content()))
    assert message["params"] == {"name": "echo", "arguments": {"text": text, "number": 2.5}}


def test_a_file_becomes_base64_and_a_large_one_is_refused(probing: Page, place: Place) -> None:
    probing.evaluate(SHOW, [form_of(one({"type": "string", "contentEncoding": "base64"}))["nodes"], "{}"])
    kind = "application/octet-stream"
    probing.locator("#probe input[type=file]").set_input_files(
        FilePayload(name="a", mimeType=kind, buffer=bytes(range(4)))
    )
    probing.wait_for_function("() => window.probe.value.get('x') === 'AAECAw=='")
    large = FilePayload(name="large", mimeType=kind, buffer=bytes(900_000))
    probing.locator("#probe input[type=file]").set_input_files(large)
    expect(probing.locator("#probe .err")).to_contain_text("900000 bytes")
    assert same_text(probing.evaluate(VALUE)) == same_text('{"x": "AAECAw=="}')


def test_five_hundred_fields_and_a_deep_one_are_drawn_quickly(probing: Page) -> None:
    took = probing.evaluate(
        f"([nodes, text]) => {{ const from = performance.now(); ({SHOW})([nodes, text]); return performance.now() - from; }}",
        [form_of(WIDE)["nodes"], '{"field_7": "q"}'],
    )
    assert took < 1500
    assert probing.locator("#probe .field").count() == 500
    deep: dict[str, Any] = {"type": "string"}
    value: Any = "end"
    for _ in range(60):
        deep, value = one(deep, required=True), {"x": value}
    probing.evaluate(SHOW, [form_of(deep)["nodes"], json.dumps(value)])
    assert probing.locator("#probe textarea").count() == 1  # below some depth it is JSON
    assert json.loads(probing.evaluate(VALUE)) == value


def test_without_a_script_the_json_is_a_form_that_runs(place: Place) -> None:
    token = place.server.token(place.folder, "owner.token")
    with person(place.browser, place.server.url, token, java_script_enabled=False) as page:
        page.goto(f"{place.server.url}/console/try/echo")
        page.fill("#try-raw", '{"text": 5}')
        page.click("#try-check")
        expect(page.locator("#try-whole")).to_contain_text("must be text")
        page.fill("#try-raw", '{"text": "hello"}')
        with page.expect_navigation(url="**run=inv_*"):  # a page that is about to be left cannot be loaded again
            page.click("#try-run")
        page.goto(page.url)
        expect(page.locator("[data-run]")).to_contain_text("hello")
