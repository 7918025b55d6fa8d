"""`ferrule gen`, as people and CI use it: over the languages that come with Ferrule, and one that exists for tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.cli.run import Ran, ferrule
from tests.definitions.compiler.definitions import agent
from tests.definitions.compiler.definitions import tool as definition

PROGRAM = """
import sys
from ferrule.definitions.stubs.languages.builtin import LANGUAGES
LANGUAGES._references["tiny"] = "tests.definitions.stubs.tiny:LANGUAGE"
from ferrule.cli import main
sys.exit(main())
"""
AGENT = """apiVersion: adl.inference-gateway.com/v1
kind: Agent
metadata: {name: clerk, description: Sells books, version: 0.1.0}
spec:
  capabilities: {streaming: true, pushNotifications: false, stateTransitionHistory: false}
  server: {port: 8080}
  language: {go: {module: books.example/clerk, version: "1.24"}}
  config: {tools: {read: {enabled: true}}}
  tools:
    - id: sell_book
      name: sell_book
      description: Sell a book
      tags: [tiny]
      schema:
        type: object
        properties: {isbn: {type: string}}
        required: [isbn]
    - id: read
    - id: count_books
      name: count_books
      description: Count the books
      tags: [read]
      schema: {type: object, properties: {}}
"""


def gen(*words: str, folder: Path) -> Ran:
    """Run `ferrule gen …` in a process that also knows the language of tests."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "gen", *words],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        timeout=60,
        text=True,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def tool(*words: str, **more: Any) -> str:
    """A tool that somebody has to implement."""
    head, _, rest = definition(*words, **more).partition("transport:\n")
    return head.replace("type: retrieval", "type: function") + rest[rest.index("use_guidance:") :]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A workspace with an agent of each kind and tools of two dialects, in two versions."""
    (tmp_path / "ferrule.toml").write_text('namespace = "shop"\n')
    (tmp_path / "tools").mkdir()
    (tmp_path / "agents").mkdir()
    (tmp_path / "tools/find-order.tool.md").write_text(tool())
    (tmp_path / "tools/find-order-2.tool.md").write_text(tool(version="2.0.0"))
    (tmp_path / "tools/add-order.tool.md").write_text(tool("add-order"))
    (tmp_path / "agents/support.agent.md").write_text(agent("find-order", role=None))
    (tmp_path / "agents/clerk.yaml").write_text(AGENT)
    return tmp_path


def stubs(folder: Path) -> list[str]:
    return sorted(path.stem for path in (folder / "gen").iterdir())


def test_every_tool_of_a_workspace_gets_stubs(shop: Path) -> None:
    ran = gen("tiny", "--out", "stubs", folder=shop)
    assert (ran.code, ran.err) == (0, "")
    assert "Tiny stubs of 5 tools in stubs: 10 written" in ran.out
    assert stubs(shop / "stubs") == ["add_order", "count_books", "find_order", "read", "sell_book"]
    listed = (shop / "stubs/all.tiny").read_text().splitlines()[1:]
    assert listed == ["sell_book", "read", "count_books", "add_order", "find_order"]  # as the definitions are written


def test_one_agent_file_is_enough(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text(AGENT)
    assert gen("tiny", "--out", ".", "--project", folder=tmp_path).code == 0
    assert (tmp_path / "main.tiny").read_text() == "project clerk\n"
    assert gen("--out", ".", "--check", folder=tmp_path).code == 0


def test_a_file_may_be_named(shop: Path) -> None:
    assert gen("tiny", "agents/clerk.yaml", "--out", "a", folder=shop).code == 0
    assert gen("tiny", "--from", "agents/clerk.yaml", "sell_book", "--out", "b", folder=shop).code == 0
    assert stubs(shop / "a") == ["count_books", "read", "sell_book"]
    assert stubs(shop / "b") == ["sell_book"]
    assert gen("--out", "a", "--check", folder=shop).code == 0
    assert gen("--out", "../a", "--check", folder=shop / "tools").code == 0


def test_an_agent_file_may_name_the_language(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text(AGENT)
    ran = ferrule("gen", "agent.yaml", "--out", "stubs", folder=tmp_path)
    assert ran.code == 0
    assert ran.out.startswith("Go stubs of 3 tools")
    (tmp_path / "agent.yaml").write_text(AGENT.replace("language: {go", "language: {rust: {packageName: a}, go"))
    ran = ferrule("gen", "agent.yaml", "--out", "other", folder=tmp_path)
    assert ran.code == 2
    assert "agent.yaml names rust and go; say which" in ran.err


def test_a_loose_file_is_read_and_nothing_around_it(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text(AGENT)
    (tmp_path / "other.yaml").write_text(AGENT.replace("clerk", "other"))
    ran = gen("tiny", str(tmp_path / "agent.yaml"), "--out", "stubs", folder=tmp_path)
    assert "of 3 tools" in ran.out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("find-order",), ["find_order"]),
        (("shop.add-order", "clerk.sell_book"), ["add_order", "sell_book"]),
        (("clerk.*",), ["count_books", "read", "sell_book"]),
        (("*order",), ["add_order", "find_order"]),
        (("--agent", "clerk"), ["count_books", "read", "sell_book"]),
        (("--agent", "support"), ["find_order"]),
    ],
)
def test_tools_are_chosen(shop: Path, words: tuple[str, ...], expected: list[str]) -> None:
    name = next(path for path in (shop / "agents").glob("*.agent.md")).read_text()
    words = tuple(_agent_id(name) if word == "support" else word for word in words)
    assert gen("tiny", *words, "--out", "stubs", folder=shop).code == 0
    assert stubs(shop / "stubs") == expected
    assert gen("--out", "stubs", "--check", folder=shop).code == 0


def _agent_id(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith("agent_id:")).split(":")[1].strip()


def test_a_version_may_be_pinned(shop: Path) -> None:
    reports = [
        json.loads(gen("tiny", f"find-order{pin}", "--out", f"out{pin}", "--json", folder=shop).out)
        for pin in ("", "@1.0.0")
    ]
    digests = [(shop / f"out{pin}/gen/find_order.tiny").read_text() for pin in ("", "@1.0.0")]
    assert [report["runs"][0]["tools"] for report in reports] == [1, 1]
    assert digests[0] != digests[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tiny", "find-ordr", "--out", "x"), "there is no tool 'find-ordr' here; did you mean 'find-order'?"),
        (("tiny", "find-order@9", "--out", "x"), "its versions are 1.0.0, 2.0.0"),
        (("tiny", "--agent", "clark", "--out", "x"), "there is no agent 'clark' here; did you mean 'clerk'?"),
        (("tinny", "--out", "x"), "there is no language 'tinny'; did you mean 'tiny'?"),
        (("tiny",), "say where to"),
        (("--out", "x"), "nothing was generated into x before; say which language"),
        (("tiny", "--flavour", "plane", "--out", "x"), "choose one of plain, fancy"),
        (("tiny", "nothing.yaml", "--out", "x"), "there is no tool 'nothing.yaml' here; there is no such file either"),
        (("tiny", "--from", "nothing.yaml", "--out", "x"), "there is no file or folder 'nothing.yaml'"),
    ],
)
def test_what_cannot_be_done_is_told(shop: Path, words: tuple[str, ...], said: str) -> None:
    ran = gen(*words, folder=shop)
    assert ran.code == 2
    assert said in ran.err
    assert not (shop / "x").exists()


def test_a_definition_with_errors_is_left_out_and_told(shop: Path) -> None:
    assert gen("tiny", "--out", "stubs", folder=shop).code == 0
    (shop / "tools/add-order.tool.md").write_text(tool("add-order").replace("type: function", "type: fun"))
    ran = gen("--out", "stubs", folder=shop)
    assert ran.code == 1
    assert "left out: add-order: tools/add-order.tool.md:11:" in ran.out
    assert "orphan" not in ran.out
    assert (shop / "stubs/gen/add_order.tiny").exists()


@pytest.mark.parametrize("broken", ["---\n: : [\n---\n", "---\naml_version: 1.2\n  tool_id: x\n---\n"])
def test_a_file_that_cannot_be_read_at_all_is_told_and_makes_no_orphans(shop: Path, broken: str) -> None:
    assert gen("tiny", "--out", "stubs", folder=shop).code == 0
    before = stubs(shop / "stubs")
    (shop / "tools/add-order.tool.md").write_text(broken)
    for words in (("--out", "stubs", "--check"), ("--out", "stubs"), ("--out", "stubs")):
        ran = gen(*words, folder=shop)
        assert ran.code == 1
        assert "left out: tools/add-order.tool.md:" in ran.out
        assert "orphan" not in ran.out
    assert stubs(shop / "stubs") == before
    (shop / "tools/add-order.tool.md").unlink()
    ran = gen("--out", "stubs", folder=shop)
    assert (ran.code, ran.out.count("  orphan: ")) == (0, 2)


def test_tools_keep_their_names_whatever_others_come_and_go(shop: Path) -> None:
    """Nobody's file does another tool's work because that tool got its name."""
    clerk = shop / "agents/clerk.yaml"
    clerk.write_text(AGENT.replace("sell_book", "add_order"))
    aml, adl = shop / "tools/add-order.tool.md", clerk.read_text()
    clerk.unlink()
    assert gen("tiny", "--out", "stubs", folder=shop).code == 0
    mine = shop / "stubs/own/add_order.tiny"
    mine.write_text(mine.read_text() + "what it does\n")
    clerk.write_text(adl)
    ran = gen("--out", "stubs", folder=shop)
    assert (ran.code, "written for another" in ran.out) == (0, False)
    assert "from add-order (" in (shop / "stubs/gen/add_order.tiny").read_text()
    others = [each for each in stubs(shop / "stubs") if "add" in each and each != "add_order"]
    assert len(others) == 1
    assert "from clerk.add_order (" in (shop / f"stubs/gen/{others[0]}.tiny").read_text()
    aml.unlink()
    ran = gen("--out", "stubs", folder=shop)
    assert "orphan: own/add_order.tiny" in ran.out
    assert "from clerk.add_order (" in (shop / f"stubs/gen/{others[0]}.tiny").read_text()
    assert "what it does" in mine.read_text()
    for path in shop.glob("stubs/*/add_order.tiny"):
        path.unlink()
    assert "orphan" not in gen("--out", "stubs", folder=shop).out


def test_a_file_that_was_written_for_another_tool_of_the_name_is_told(shop: Path) -> None:
    assert gen("tiny", "count_books", "--out", "stubs", folder=shop).code == 0
    (shop / "stubs/.ferrule-gen.json").write_text(
        (shop / "stubs/.ferrule-gen.json").read_text().replace("clerk.count_books", "clark.count_books")
    )
    ran = gen("tiny", "count_books", "--out", "stubs", folder=shop)
    assert (shop / "stubs/own/count_books.tiny").exists()
    assert "orphan: own/count_books.tiny" in ran.out


def test_a_chosen_tool_that_is_gone_leaves_orphans(shop: Path) -> None:
    assert gen("tiny", "sell_book", "add-order", "--out", "stubs", folder=shop).code == 0
    (shop / "tools/add-order.tool.md").unlink()
    check = gen("--out", "stubs", "--check", folder=shop)
    assert (check.code, "orphan: gen/add_order.tiny" in check.out) == (1, True)
    ran = gen("--out", "stubs", folder=shop)
    assert (ran.code, "orphan: own/add_order.tiny" in ran.out) == (0, True)
    (shop / "agents/clerk.yaml").unlink()
    ran = gen("--out", "stubs", folder=shop)
    assert (ran.code, ran.out.count("  orphan: ")) == (0, 4)
    assert "there is no tool 'sell_book'" in gen("tiny", "sell_book", "--out", "stubs", folder=shop).err


def test_what_was_generated_beside_its_workspace_finds_it_again(shop: Path) -> None:
    out = shop.with_name(f"{shop.name}-beside")
    assert gen("tiny", "sell_book", "--out", str(out), folder=shop).code == 0
    elsewhere = shop.with_name(f"{shop.name}-elsewhere")
    elsewhere.mkdir()
    (elsewhere / "sell_book.tool.md").write_text(tool("sell_book"))
    ran = gen("--out", str(out), "--check", folder=elsewhere)
    assert (ran.code, "up to date" in ran.out) == (0, True)
    moved = shop.rename(shop.with_name(f"{shop.name}-moved"))
    ran = gen("--out", str(out), folder=elsewhere)
    assert (ran.code, "--workspace DIR" in ran.err) == (2, True)
    assert gen("--out", str(out), "--workspace", str(moved), folder=elsewhere).code == 0
    assert gen("--out", str(out), folder=elsewhere).code == 0


def test_a_tool_with_errors_does_not_keep_others_of_its_agent_out(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text(AGENT)
    assert gen("tiny", "--out", "stubs", folder=tmp_path).code == 0
    broken = AGENT.replace("schema: {type: object, properties: {}}", "schema: {type: objekt}")
    (tmp_path / "agent.yaml").write_text(broken.replace("Sell a book", "Sell one"))
    ran = gen("--out", "stubs", folder=tmp_path)
    assert ran.code == 1
    assert "left out: clerk.count_books: agent.yaml:23:" in ran.out
    assert "Sell one" in (tmp_path / "stubs/gen/sell_book.tiny").read_text()


def test_where_no_tool_can_be_read_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text(AGENT)
    assert gen("tiny", "--out", "stubs", folder=tmp_path).code == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.tiny")}
    (tmp_path / "agent.yaml").write_text(AGENT.replace("kind: Agent", "kind: Agents"))
    ran = gen("--out", "stubs", folder=tmp_path)
    assert ran.code == 1
    assert ran.out.count("left out: ") == 3
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*.tiny")}
    assert gen("tiny", "--out", "other", folder=tmp_path).code == 1
    assert not (tmp_path / "other").exists()


def test_an_aml_tool_needs_no_transport_for_a_stub(shop: Path) -> None:
    text = definition("add-order")
    start, end = text.index("transport:"), text.index("use_guidance:")
    (shop / "tools/add-order.tool.md").write_text(text[:start] + text[end:])
    assert gen("tiny", "add-order", "--out", "stubs", folder=shop).code == 0


def test_check_says_what_is_not_up_to_date(shop: Path) -> None:
    gen("tiny", "--out", "stubs", folder=shop)
    current = gen("--check", "--out", "stubs", folder=shop)
    assert (current.code, current.out) == (0, "Tiny stubs of 5 tools in stubs: up to date, 10 files\n")
    (shop / "agents/clerk.yaml").write_text(
        AGENT.replace("Sell a book", "Sell one")
        .replace("required: [isbn]", "required: []")
        .replace("count_books", "tell")
    )
    (shop / "stubs/gen/add_order.tiny").unlink()
    (shop / "stubs/gen/read.tiny").write_text("edited")
    before = {path: path.read_bytes() for path in shop.rglob("*") if path.is_file()}
    ran = gen("--check", "--out", "stubs", folder=shop)
    assert ran.code == 1
    for line in (
        "stale: gen/sell_book.tiny",
        "missing: gen/add_order.tiny",
        "would be new: gen/tell.tiny",
        "edited by hand: gen/read.tiny",
        "own/sell_book.tiny: what clerk.sell_book takes, gives or is given has changed;",
        "orphan: gen/count_books.tiny",
        "run: ferrule gen --out stubs",
    ):
        assert line in ran.out
    assert before == {path: path.read_bytes() for path in shop.rglob("*") if path.is_file()}
    assert gen("--out", "stubs", folder=shop).code == 1
    assert gen("--out", "stubs", "--force", folder=shop).code == 0


def test_what_was_chosen_before_is_chosen_again(shop: Path) -> None:
    gen("tiny", "sell_book", "--flavour", "fancy", "--project", "--out", "stubs", folder=shop)
    assert "fancy" in (shop / "stubs/gen/sell_book.tiny").read_text()
    assert gen("--out", "stubs", folder=shop).code == 0
    assert stubs(shop / "stubs") == ["sell_book"]
    assert gen("tiny", "sell_book", "--check", "--out", "stubs", folder=shop).code == 0  # a project, and fancy, still


def test_notes_tell_the_place(shop: Path) -> None:
    ran = gen("tiny", "--agent", "clerk", "--out", "stubs", folder=shop)
    assert "looser: agents/clerk.yaml:14: clerk.sell_book #: tiny" in ran.out
    big = AGENT.replace("isbn: {type: string}", 'isbn: {not: {type: string}, patternProperties: {"^a": {}}}')
    (shop / "agents/clerk.yaml").write_text(big)
    ran = gen("tiny", "--agent", "clerk", "--out", "stubs", folder=shop)
    assert "looser: agents/clerk.yaml:16: clerk.sell_book #/properties/isbn: " in ran.out


def test_json_tells_everything(shop: Path) -> None:
    report: dict[str, Any] = json.loads(gen("tiny", "--out", "stubs", "--json", folder=shop).out)
    run = report["runs"][0]
    assert (report["folder"], report["is_check"]) == ("stubs", False)
    assert (run["language"], run["kind"], run["flavour"], run["project"]) == ("tiny", "implementation", "plain", False)
    assert {"path": "own/read.tiny"} not in run["files"]
    assert run["files"][0] == {
        "path": "all.tiny",
        "state": "new",
        "standing": "generated",
        "tool_id": "",
        "is_behind": False,
    }
    assert run["notes"][0]["tool_id"] == "clerk.sell_book"


def test_languages_are_listed(tmp_path: Path) -> None:
    ran = ferrule("gen", "--list", folder=tmp_path)
    assert ran.code == 0
    assert [line.split()[0] for line in ran.out.splitlines()] == ["go", "typescript", "rust", "python"]
    assert "msgspec, pydantic" in ran.out


@pytest.mark.parametrize("word", ["go", "golang", "ts", "TypeScript", "rs", "py"])
@pytest.mark.parametrize("kind", ["implementation", "client"])
def test_every_language_writes_stubs_that_stay_the_same(tmp_path: Path, word: str, kind: str) -> None:
    """ADL-52: a second run finds nothing to do."""
    (tmp_path / "agent.yaml").write_text(AGENT)
    ran = ferrule("gen", word, "--kind", kind, "--project", "--out", "stubs", folder=tmp_path)
    assert ran.code == 0, ran.err + ran.out
    assert ferrule("gen", "--check", "--out", "stubs", folder=tmp_path).code == 0


def test_another_flavour_is_told_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text(AGENT)
    words = ("gen", "python", "agent.yaml", "--project", "--out", "stubs")
    assert ferrule(*words, folder=tmp_path).code == 0
    again = ferrule(*words, folder=tmp_path)
    assert "pydantic" not in again.out
    switched = ferrule(*words, "--flavour", "pydantic", folder=tmp_path)
    assert (switched.code, "pydantic>=" in switched.out) == (0, True), switched


def test_a_go_project_stays_the_module_that_it_is(tmp_path: Path) -> None:
    """Whatever tools come later, and when a person calls it anew."""
    (tmp_path / "agent.yaml").write_text(AGENT)
    (tmp_path / "ferrule.toml").write_text('namespace = "shop"\n')
    (tmp_path / "add-order.tool.md").write_text(tool("add-order"))
    assert ferrule("gen", "go", "add-order", "--project", "--out", "stubs", folder=tmp_path).code == 0
    stubs_folder = tmp_path / "stubs"
    assert "\nmodule shop\n" in (stubs_folder / "go.mod").read_text()
    assert ferrule("gen", "go", "--out", "stubs", folder=tmp_path).code == 0
    assert '"shop/tools"' in (stubs_folder / "main.go").read_text()
    (stubs_folder / "go.mod").write_text('module "example.com/mine" // ours\n\ngo 1.24\n')
    check = ferrule("gen", "--out", "stubs", "--check", folder=tmp_path)
    assert (check.code, "stale: main.go" in check.out) == (1, True)
    assert ferrule("gen", "--out", "stubs", folder=tmp_path).code == 0
    assert '"example.com/mine/tools"' in (stubs_folder / "main.go").read_text()


def test_files_that_cannot_be_read_are_told_where_what_was_chosen_is_missing(shop: Path) -> None:
    assert gen("tiny", "sell_book", "add-*", "--out", "stubs", folder=shop).code == 0
    (shop / "tools/find-order.tool.md").write_text("---\n: : [\n---\n")
    assert gen("--out", "stubs", folder=shop).code == 0  # it has nothing to do with these
    (shop / "tools/add-order.tool.md").write_text("---\n: : [\n---\n")
    ran = gen("--out", "stubs", folder=shop)
    assert (ran.code, "left out: tools/add-order.tool.md:" in ran.out, "orphan" in ran.out) == (1, True, False)


def test_an_agent_that_cannot_be_read_or_is_gone_is_told(shop: Path) -> None:
    assert gen("tiny", "--agent", "clerk", "--out", "stubs", folder=shop).code == 0
    file = shop / "agents/clerk.yaml"
    file.write_text(AGENT.replace("tags: [tiny]", "tags: [tiny"))
    ran = gen("--out", "stubs", folder=shop)
    assert (ran.code, "left out: agents/clerk.yaml:" in ran.out, "orphan" in ran.out) == (1, True, False)
    assert "agents/clerk.yaml:" in gen("tiny", "--agent", "clerk", "--out", "other", folder=shop).err
    file.unlink()
    ran = gen("--out", "stubs", folder=shop)
    assert (ran.code, "orphan: own/sell_book.tiny" in ran.out) == (0, True)


def test_tools_of_a_renamed_agent_are_told_apart_by_its_name(shop: Path) -> None:
    assert gen("tiny", "sell_book", "--out", "stubs", folder=shop).code == 0
    file = shop / "agents/clerk.yaml"
    file.write_text(file.read_text().replace("name: clerk", "name: seller"))
    ran = gen("--out", "stubs", folder=shop)
    assert "orphan: own/sell_book.tiny" in ran.out
    assert stubs(shop / "stubs") == ["sell_book", "seller_sell_book"]
    assert "next: write what the tool does in stubs/own/seller_sell_book.tiny" in ran.out


def test_definitions_that_were_moved_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "defs").mkdir()
    (tmp_path / "defs/agent.yaml").write_text(AGENT)
    assert gen("tiny", "defs/agent.yaml", "--out", "stubs", folder=tmp_path).code == 0
    (tmp_path / "defs/agent.yaml").rename(tmp_path / "defs/clerk.yaml")
    ran = gen("--out", "stubs", folder=tmp_path)
    assert (ran.code, "is not there any more" in ran.err, "--workspace DIR" in ran.err) == (2, True, True)


def test_a_tool_with_errors_does_not_keep_others_of_its_list_out(tmp_path: Path) -> None:
    def listed(name: str, kind: str) -> dict[str, Any]:
        parameters = {"type": kind, "properties": {}}
        about = {"id": f"Shop.{name}@1.0.0", "name": f"Shop_{name}", "version": "1.0.0", "description": "Does it."}
        return {**about, "input_schema": {"parameters": parameters}, "output_schema": {}}

    (tmp_path / "shop.json").write_text(json.dumps({"tools": [listed("Buy", "object"), listed("Sell", "objekt")]}))
    ran = gen("tiny", "--out", "stubs", folder=tmp_path)
    assert (ran.code, "left out: Shop.Sell: shop.json:1:" in ran.out) == (1, True), ran
    assert stubs(tmp_path / "stubs") == ["shop_buy"]


def test_two_versions_of_a_tool_are_called_the_same_every_time(shop: Path) -> None:
    words = ("tiny", "find-order@1.0.0", "find-order@2.0.0", "--out", "stubs")
    first = gen(*words, folder=shop)
    assert first.code == 0, first
    before = stubs(shop / "stubs")
    assert len(before) == 2
    for _ in range(2):
        again = gen("--out", "stubs", folder=shop)
        assert (again.code, "0 written" in again.out, "orphan" in again.out) == (0, True, False), again
    assert stubs(shop / "stubs") == before


def test_a_role_that_cannot_be_read_has_nothing_to_do_with_stubs(shop: Path) -> None:
    (shop / "iam").mkdir()
    (shop / "iam/clerk.iam.md").write_text("---\n: : [\n---\n")
    ran = gen("tiny", "--out", "stubs", folder=shop)
    assert (ran.code, "left out" in ran.out) == (0, False), ran


def test_what_ferrule_runs_itself_needs_no_implementation(shop: Path) -> None:
    (shop / "tools/add-order.tool.md").write_text(definition("add-order"))
    ran = gen("tiny", "--out", "stubs", folder=shop)
    assert "Tiny stubs of 4 tools" in ran.out
    assert "  run by Ferrule itself, so there is nothing to fill in: add-order" in ran.out
    assert "add_order" not in stubs(shop / "stubs")
    assert gen("--out", "stubs", "--check", folder=shop).code == 0
    assert gen("tiny", "add-order", "--out", "named", folder=shop).code == 0  # to stand in for its transport
    assert gen("tiny", "--kind", "client", "--out", "calls", folder=shop).out.startswith("Tiny client stubs of 5 tools")
    alone = gen("tiny", "add-*", "--out", "alone", folder=shop)
    assert alone.code == 2 and "there is nothing to implement: Ferrule runs add-order itself" in alone.err
