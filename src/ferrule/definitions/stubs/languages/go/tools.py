"""Writes the files of one tool: the generated one, the file that a person fills in, and the test that goes with it."""

from __future__ import annotations

import msgspec

from ferrule.contracts.language import SourceFile, ToolPlan
from ferrule.definitions.stubs.languages.go.checks import GoChecks
from ferrule.definitions.stubs.languages.go.names import lower_first, safe_stem
from ferrule.definitions.stubs.languages.go.surroundings import GoSurroundings
from ferrule.definitions.stubs.languages.go.text import (
    one_line,
    quote,
    quote_json,
    write_comment,
    write_header,
    write_source,
    write_struct,
)
from ferrule.definitions.stubs.languages.go.types import GoTree, PackageScope

PACKAGE = "tools"


def write_types(tool: ToolPlan, scope: PackageScope) -> list[str]:
    """Writes the types of what a tool takes and gives."""
    called = f"the tool {one_line(tool.name)}"
    lines = _write_tree(GoTree(tool.input, scope, tool.tool_id, f"what {called} takes"))
    if tool.output is not None:
        return lines + _write_tree(GoTree(tool.output, scope, tool.tool_id, f"what {called} gives back"))
    name = f"{tool.type_name}Output"
    return [*lines, f"// {name} is what {called} gives back: any value.", f"type {name} = any", ""]


def _write_tree(tree: GoTree) -> list[str]:
    checks = GoChecks(tree)
    return [line for each in tree.declared.values() for line in (*tree.write(each), *checks.write_validate(each))]


def write_generated(tool: ToolPlan, scope: PackageScope) -> SourceFile:
    """Writes the types of a tool, what a person has to write, and what makes a tool of that."""
    name = tool.type_name
    lines = [
        f"// {name}Handler does the work of the tool {one_line(tool.name)}.",
        f"type {name}Handler interface {{",
        f"\t{name}Handler(ctx context.Context, input {name}Input) ({name}Output, error)",
        "}",
        "",
        *_write_maker(tool, f"handler {name}Handler", f"calling(handler.{name}Handler)"),
        *write_types(tool, scope),
    ]
    text = write_source(write_header(tool), PACKAGE, lines)
    return SourceFile(f"{PACKAGE}/{safe_stem(tool.stem)}_gen.go", text, "generated", tool.tool_id)


def write_builtin(tool: ToolPlan) -> SourceFile:
    """Writes a tool that a running Ferrule brings along: nobody has to implement it, so it has no types."""
    text = write_source(write_header(tool), PACKAGE, _write_maker(tool, "", f"viaFerrule({quote(tool.name)})"))
    return SourceFile(f"{PACKAGE}/{safe_stem(tool.stem)}_gen.go", text, "generated", tool.tool_id)


def name_maker(tool: ToolPlan) -> str:
    """Names the function that makes the tool."""
    return f"{lower_first(tool.type_name)}Tool"


def _write_maker(tool: ToolPlan, takes: str, call: str) -> list[str]:
    fields = {"Name": tool.name, "Title": tool.title, "Description": tool.description}
    lines = [f"\ttool.{field} = {quote(text)}" for field, text in fields.items() if text]
    lines.append(f"\ttool.InputSchema = json.RawMessage({quote_json(tool.input_schema)})")
    if tool.output_schema is not None and _is_object(tool.output_schema):
        lines.append(f"\ttool.OutputSchema = json.RawMessage({quote_json(tool.output_schema)})")
    return [
        f"// {name_maker(tool)} makes the tool {one_line(tool.name)}.",
        f"func {name_maker(tool)}({takes}) (tool Tool) {{",
        *lines,
        f"\ttool.Call = {call}",
        "\treturn tool",
        "}",
        "",
    ]


def _is_object(schema: msgspec.Raw) -> bool:
    """Tells whether MCP takes a schema for that of structured content."""
    found = msgspec.json.decode(schema)
    return isinstance(found, dict) and found.get("type") == "object"


def write_implementation(tool: ToolPlan, around: GoSurroundings) -> SourceFile:
    """Writes the file that a person fills in (ADL-41, ADL-43)."""
    name = tool.type_name
    given = around.dependencies(tool)
    parameters = ", ".join(f"{each.field} {each.go}" for each in given)
    values = ", ".join(f"{each.field}: {each.field}" for each in given)
    lines = [
        *write_comment([f"{name}Tool is the tool {one_line(tool.name)}.", tool.description]),
        *write_struct(f"{name}Tool", [[each.field, each.go] for each in given]),
        f"var _ {name}Handler = (*{name}Tool)(nil)",
        "",
        f"// New{name}Tool makes the tool with what it needs.",
        f"func New{name}Tool({parameters}) *{name}Tool {{",
        f"\treturn &{name}Tool{{{values}}}",
        "}",
        "",
        f"// {name}Handler does the work of the tool.",
        f"func (t *{name}Tool) {name}Handler(ctx context.Context, input {name}Input) ({name}Output, error) {{",
        *_write_body(tool),
        "}",
    ]
    text = write_source("", PACKAGE, lines, {each.imported for each in given if each.imported})
    return SourceFile(f"{PACKAGE}/{safe_stem(tool.stem)}.go", text, "yours", tool.tool_id)


def _write_body(tool: ToolPlan) -> list[str]:
    """Writes a body that builds and fails until somebody has written it (ADL-41): a result nobody computed would go on record."""
    return ["\t// TODO: do the work.", f"\tvar output {tool.type_name}Output", "\treturn output, ErrNotImplemented"]


def write_test(tool: ToolPlan) -> SourceFile:
    """Writes a test to begin with. It says that it tests nothing as long as that is so."""
    name = tool.type_name
    lines = [
        f"func Test{name}Handler(t *testing.T) {{",
        f"\tt.Skip({quote(f'nobody has written the tool {tool.name} yet; when you have, take this line away')})",
        "\t// TODO: give the tool what it needs, and an input that means something.",
        f"\ttool := &{name}Tool{{}}",
        f"\tvar input {name}Input",
        f"\toutput, err := tool.{name}Handler(context.Background(), input)",
        "\tif err != nil {",
        "\t\tt.Fatal(err)",
        "\t}",
        "\tt.Log(output)",
        "}",
    ]
    text = write_source("", PACKAGE, lines)
    return SourceFile(f"{PACKAGE}/{safe_stem(tool.stem)}_test.go", text, "yours", tool.tool_id)
