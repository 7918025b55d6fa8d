"""`ferrule import openapi` and the function lists: chosen, written, made again, and told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ferrule.app.imports.store import load_import
from ferrule.cli import main
from ferrule.workspace.workspace import Workspace


class Place:
    """A workspace, and what the command line says there."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capsys = capsys
        (root / "ferrule.toml").write_text('namespace = "shop"  # ours\n')

    def run(self, *words: str) -> tuple[int, str, str]:
        self._capsys.readouterr()
        code = main([*words, "--workspace", str(self.root)])
        captured = self._capsys.readouterr()
        return code, captured.out, captured.err

    def report(self, *words: str) -> tuple[int, dict[str, Any]]:
        code, out, _ = self.run(*words, "--report", "json")
        (report,) = json.loads(out)["imports"]
        return code, report

    def write(self, name: str, value: Any) -> str:
        (self.root / name).write_text(json.dumps(value))
        return str(self.root / name)

    def tool(self, name: str) -> Path:
        return self.root / "tools" / f"{name}.tool.md"


@pytest.fixture
def place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Place:
    return Place(tmp_path, capsys)


def operation(name: str, **more: Any) -> dict[str, Any]:
    limit = {"name": "limit", "in": "query", "description": "How many.", "schema": {"type": "integer", "maximum": 9}}
    return {
        "operationId": name,
        "summary": f"Do {name}",
        "tags": ["pets"],
        "parameters": [limit],
        "responses": {"200": {"description": "ok", "content": {"application/json": {"schema": {"type": "object"}}}}},
        **more,
    }


def document(**paths: Any) -> dict[str, Any]:
    return {
        "openapi": "3.0.3",
        "info": {"title": "Pets", "version": "1.0.0"},
        "servers": [{"url": "https://pets.example.com"}],
        "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
        "security": [{"key": []}],
        "paths": {f"/{name}": {"get": value} for name, value in paths.items()},
    }


PETS = document(pets=operation("listPets"), owners=operation("listOwners", tags=["people"]))


def test_operations_become_tools_that_check_without_errors_and_what_to_do_next_is_told(place: Place) -> None:
    code, out, _ = place.run("import", "openapi", place.write("pets.json", PETS))
    assert code == 0, out
    assert place.tool("list_pets").exists()
    assert place.tool("list_owners").exists()
    assert "set PETS_KEY" in out
    assert "ferrule call list_owners --build" in out
    report = Workspace.open(place.root).check()
    assert report.summary.errors == 0
    assert (place.root / "ferrule.toml").read_text() == 'namespace = "shop"  # ours\n'


def test_the_choice_is_remembered_and_an_import_without_a_source_repeats_it(place: Place) -> None:
    file = place.write("pets.json", PETS)
    code, report = place.report("import", "openapi", file, "--tag", "people")
    assert [one["file"] for one in report["files"]] == ["tools/list_owners.tool.md"]
    kept = load_import(place.root, "pets")
    assert kept is not None
    assert (kept.record.source, kept.record.choice["tags"]) == ("pets.json", ["people"])
    place.write("pets.json", document(owners=operation("listOwners", tags=["people"], summary="Do more")))
    code, report = place.report("import", "openapi", "--yes")
    assert (code, [one["state"] for one in report["files"]]) == (0, ["updated"])
    assert "Do more" in place.tool("list_owners").read_text()


def test_edits_stay_and_breaking_changes_upstream_are_told(place: Place) -> None:
    file = place.write("pets.json", PETS)
    place.run("import", "openapi", file)
    tool = place.tool("list_pets")
    tool.write_text(tool.read_text().replace("status: active", "# not yet\nstatus: draft   # mine"))
    changed = operation("listPets")
    changed["parameters"][0]["schema"]["maximum"] = 5
    place.write("pets.json", document(pets=changed, more=operation("more"), owners=PETS["paths"]["/owners"]["get"]))
    code, out, _ = place.run("import", "openapi", "pets", "--yes")
    assert code == 0
    assert "1 breaking" in out
    assert "`limit` must now be at most 5" in out
    assert "1 of your edits kept" in out
    text = tool.read_text()
    assert "# not yet\nstatus: draft   # mine\n" in text
    assert "maximum: 5" in text
    assert place.tool("more").exists()


def test_a_conflict_is_shown_with_both_values_and_its_line_and_nothing_is_written(place: Place) -> None:
    file = place.write("pets.json", document(pets=operation("listPets")))
    place.run("import", "openapi", file)
    tool = place.tool("list_pets")
    mine = tool.read_text().replace("maximum: 9", "maximum: 7")
    tool.write_text(mine)
    changed = operation("listPets")
    changed["parameters"][0]["schema"]["maximum"] = 5
    place.write("pets.json", document(pets=changed))
    code, report = place.report("import", "openapi")
    line = mine.split("\n").index("        maximum: 7") + 1
    (conflict,) = report["conflicts"]
    assert (code, conflict["line"], conflict["path"]) == (1, line, "interface.input.properties.limit.maximum")
    assert (conflict["imported"], conflict["yours"], conflict["upstream"]) == ("9", "7", "5")
    assert tool.read_text() == mine
    code, out, _ = place.run("import", "openapi")
    assert code == 1
    assert f"tools/list_pets.tool.md:{line}: conflict" in out
    assert "yours:    7" in out
    assert place.run("import", "openapi", "--theirs", "--yes")[0] == 0
    assert "maximum: 5" in tool.read_text()


def test_a_look_writes_nothing_and_shows_the_lines(place: Place) -> None:
    file = place.write("pets.json", PETS)
    code, out, _ = place.run("import", "openapi", file, "--diff")
    assert code == 0
    assert "+tool_id: list_pets" in out
    code, out, _ = place.run("import", "openapi", file, "--dry-run")
    assert "new: tools/list_pets.tool.md" in out
    assert not (place.root / "tools").exists()
    assert not (place.root / ".ferrule").exists()


def test_existing_files_are_not_changed_without_anybody_agreeing(place: Place) -> None:
    file = place.write("pets.json", PETS)
    place.run("import", "openapi", file)
    place.write("pets.json", document(pets=operation("listPets", summary="Other")))
    code, _, err = place.run("import", "openapi")
    assert code == 2
    assert "add --yes" in err


def test_a_file_that_is_there_already_is_not_touched(place: Place) -> None:
    place.tool("list_pets").parent.mkdir()
    place.tool("list_pets").write_text("mine")
    code, out, _ = place.run("import", "openapi", place.write("pets.json", PETS), "--yes", "--theirs")
    assert code == 1
    assert "no import made it" in out
    assert place.tool("list_pets").read_text() == "mine"
    assert place.tool("list_owners").exists()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "openapi: 3.0.0\n", "null", '{"openapi": "3.1.0", "paths": {"/a": 3}}']
)
def test_what_is_no_document_is_told_and_writes_nothing(place: Place, text: str) -> None:
    (place.root / "odd.yaml").write_text(text)
    code, _, err = place.run("import", "openapi", str(place.root / "odd.yaml"))
    assert code in (1, 2)
    assert "Traceback" not in err
    assert not (place.root / "tools").exists()


class _Pets(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps(PETS).encode()
        self.send_response(200 if self.path == "/openapi.json" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Pets)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_address_is_fetched_under_the_network_rules(place: Place, address: str) -> None:
    code, _, err = place.run("import", "openapi", f"{address}/openapi.json", "--name", "pets")
    assert code == 2
    assert "[network] allow" in err
    host = address.removeprefix("http://")
    (place.root / "ferrule.toml").write_text(f'[network]\nallow = ["{host}"]\n')
    assert place.run("import", "openapi", f"{address}/openapi.json", "--name", "pets")[0] == 0
    assert place.tool("list_pets").exists()
    assert place.run("import", "openapi", f"{address}/nothing", "--name", "other")[0] == 2
    code, _, err = place.run("import", "openapi", f"http://me:secret@{host}/openapi.json", "--name", "third")
    assert code == 2
    assert "password" in err


LISTS: dict[str, Any] = {
    "openai": [{"type": "function", "function": {"name": "findOrder", "description": "Find one.",
                "parameters": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}}}],
    "anthropic": {"tools": [{"name": "findOrder", "description": "Find one.", "input_schema":
                  {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}}]},
    "gemini": {"tools": [{"functionDeclarations": [{"name": "findOrder", "description": "Find one.", "parameters":
               {"type": "OBJECT", "properties": {"id": {"type": "STRING"}}, "required": ["id"]}}]}]},
}  # fmt: skip


@pytest.mark.parametrize("provider", LISTS)
def test_a_list_of_functions_becomes_definitions_that_functions_of_the_same_names_run(
    place: Place, provider: str
) -> None:
    (place.root / "orders.py").write_text("def find_order(id: str) -> dict:\n    return {'id': id}\n")
    file = place.write("functions.json", LISTS[provider])
    code, report = place.report("import", provider, file, "--bind", "orders.py")
    assert (code, [one["file"] for one in report["files"]]) == (0, ["tools/find_order.tool.md"])
    assert 'find_order = "orders.py:find_order"' in (place.root / "ferrule.toml").read_text()
    with (place.root / "ferrule.toml").open("a") as settings:
        settings.write('\n[policy]\nmode = "trusted"\n')
    code, out, err = place.run("call", "find_order", "--build", "--input", '{"id": "A-1"}')
    assert (code, json.loads(out)) == (0, {"id": "A-1"}), err


def test_imports_are_listed(place: Place) -> None:
    place.run("import", "openapi", place.write("pets.json", PETS))
    code, out, _ = place.run("import", "list")
    assert code == 0
    assert "pets  openapi  pets.json" in out


def test_two_sources_of_one_name_are_told_apart(place: Place) -> None:
    place.run("import", "openapi", place.write("pets.json", PETS))
    (place.root / "new").mkdir()
    other = place.write("new/pets.json", PETS)
    code, _, err = place.run("import", "openapi", other)
    assert code == 2
    assert "--name" in err
    code, report = place.report("import", "openapi", other, "--name", "pets")
    assert (code, report["source"], {one["state"] for one in report["files"]}) == (0, "new/pets.json", {"unchanged"})


def test_functions_are_bound_by_the_names_in_the_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = Place(tmp_path, capsys)
    names = ("find_order", "find_Order", "find_café", "lost")
    source = place.write("tools.json", [{"type": "function", "function": {"name": name}} for name in names])
    functions = "\n".join(f"def {name}() -> int:\n    return 1\n" for name in names[:3])
    (tmp_path / "functions.py").write_text(functions)
    code, out, _ = place.run("import", "openai", source, "--bind", "functions.py")
    bound = Workspace.open(str(tmp_path)).settings.functions.bind
    assert code == 0
    assert sorted(bound.values()) == sorted(f"functions.py:{name}" for name in names[:3])
    assert "no function of functions.py is named like it: lost" in out
    assert "bind them to functions" not in out


def test_an_option_that_is_not_there_is_no_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ferrule.toml").write_text("")
    code = main(["import", "mcp", "--workspace", str(tmp_path), "--report", "json", "crm"])
    assert code == 2
    assert "there is no option '--report'" in capsys.readouterr().err
