"""One tool: its generated file, the file that a person fills in, and the test that goes with it."""

from __future__ import annotations

from ferrule.contracts.language import SourceFile, ToolPlan
from ferrule.definitions.stubs.languages.go.declarations import anything_lines, tree_lines
from ferrule.definitions.stubs.languages.go.names import Scope, safe_stem
from ferrule.definitions.stubs.languages.go.surroundings import LOGGER, Dependency, Surroundings
from ferrule.definitions.stubs.languages.go.text import aligned, comment, header, json_literal, one_line, quoted, source

PACKAGE = "tools"


def types(tool: ToolPlan, scope: Scope) -> list[str]:
    """The types of what a tool takes and gives."""
    called = f"the tool {one_line(tool.name)}"
    lines = tree_lines(tool.input, tool.input_schema, scope, f"what {called} takes")
    if tool.output is None or tool.output_schema is None:
        return [*lines, *anything_lines(f"{tool.type_name}Output", f"what {called} gives back")]
    return [*lines, *tree_lines(tool.output, tool.output_schema, scope, f"what {called} gives back")]


def generated_file(tool: ToolPlan, scope: Scope) -> SourceFile:
    """Types and registration of a tool that a person implements."""
    name = f"{tool.type_name}Contract_{tool.contract}"
    lines = [
        f"// {name} is named by the file that implements the tool. It is another when what the tool takes or gives is another.",
        f"const {name} = {quoted(tool.contract)}",
        "",
        *_make(tool),
        *types(tool, scope),
    ]
    text = source(header(tool), PACKAGE, lines, scope.json_import())
    return SourceFile(f"{PACKAGE}/{safe_stem(tool.stem)}_gen.go", text, "generated", tool.tool_id)


def builtin_file(tool: ToolPlan, scope: Scope) -> SourceFile:
    """A tool that a running Ferrule brings along: nobody has to implement it."""
    name = tool.type_name
    lines = [
        f"// New{name}Tool gives the tool, which a running Ferrule does the work of: see NewClient.",
        f"func New{name}Tool() Tool {{",
        f"\treturn make{name}(viaFerrule((*Client).{name}))",
        "}",
        "",
        *_make(tool),
        *method(tool),
        *types(tool, scope),
    ]
    text = source(header(tool), PACKAGE, lines, ["context", *scope.json_import()])
    return SourceFile(f"{PACKAGE}/{safe_stem(tool.stem)}_gen.go", text, "generated", tool.tool_id)


def method(tool: ToolPlan) -> list[str]:
    """What calls the tool at a running Ferrule."""
    name = tool.type_name
    takes = f"ctx context.Context, input {name}Input, options ...CallOption"
    return [
        *comment([f"{name} calls the tool {one_line(tool.name)}.", tool.description]),
        f"func (c *Client) {name}({takes}) ({name}Output, error) {{",
        f"\treturn callTool(ctx, c, {quoted(tool.name)}, input, options, Encode{name}Input, Decode{name}Output)",
        "}",
        "",
    ]


def _make(tool: ToolPlan) -> list[str]:
    name = tool.type_name
    pair = f"{name}Input, {name}Output"
    output = f"schemaOf{name}Output"
    tags = ", ".join(map(quoted, tool.tags))
    return [
        f"// make{name} gives the tool of its work.",
        f"func make{name}(handle Handler[{pair}]) Tool {{",
        f"\ttool := &basicTool[{pair}]{{handle: handle, decode: Decode{name}Input, encode: Encode{name}Output}}",
        f"\ttool.definition.Name = {quoted(tool.name)}",
        *([f"\ttool.definition.Title = {quoted(tool.title)}"] if tool.title else []),
        f"\ttool.definition.Description = {quoted(tool.description)}",
        *([f"\ttool.definition.Version = {quoted(tool.version)}"] if tool.version else []),
        *([f"\ttool.definition.Tags = []string{{{tags}}}"] if tags else []),
        f"\ttool.definition.InputSchema = []byte(schemaOf{name}Input.text)",
        *(
            [f"\ttool.definition.OutputSchema = []byte({output}.text)", f"\ttool.output = {output}"]
            if tool.output
            else []
        ),
        "\treturn tool",
        "}",
        "",
    ]


def implementation_file(tool: ToolPlan, around: Surroundings) -> SourceFile:
    """The file that a person fills in (ADL-41, ADL-43)."""
    name, stem = tool.type_name, safe_stem(tool.stem)
    given = around.dependencies(tool)
    parameters = ", ".join(f"{each.field} {each.go}" for each in given)
    values = ", ".join(f"{each.field}: {each.field}" for each in given)
    lines = [
        *comment([f"{name}Tool is the tool {one_line(tool.name)}.", tool.description]),
        *_struct(name, given),
        f"// If this does not compile, what the tool takes or gives has changed: look at {stem}_gen.go, mend the code below,",
        "// then write the new digits here.",
        f"const _ = {name}Contract_{tool.contract}",
        "",
        f"// New{name}Tool makes the tool with what it needs.",
        f"func New{name}Tool({parameters}) Tool {{",
        f"\treturn make{name}((&{name}Tool{{{values}}}).{name}Handler)",
        "}",
        "",
        f"// {name}Handler does the work of the tool.",
        f"func (t *{name}Tool) {name}Handler(ctx context.Context, input {name}Input) ({name}Output, error) {{",
        *_body(tool),
        "}",
    ]
    logs = ["log/slog"] if any(each.go == LOGGER for each in given) else []
    imports = {each.imported for each in given if each.imported}
    text = source("", PACKAGE, lines, ["context", *logs], imports)
    return SourceFile(f"{PACKAGE}/{stem}.go", text, "yours", tool.tool_id)


def _struct(name: str, given: list[Dependency]) -> list[str]:
    if not given:
        return [f"type {name}Tool struct{{}}", ""]
    rows = aligned([[each.field, each.go] for each in given])
    return [f"type {name}Tool struct {{", *(f"\t{row}" for row in rows), "}", ""]


def _body(tool: ToolPlan) -> list[str]:
    """A body that builds and says that it is none (ADL-41)."""
    todo = "\t// TODO: do the work; until then this is a placeholder."
    if tool.output is None:
        words = f"the tool {tool.name} is not implemented yet"
        return [todo, f'\treturn map[string]any{{"not_implemented": {quoted(words)}}}, nil']
    if tool.placeholder is None:
        name = f"{tool.type_name}Output"
        return [todo, f"\tvar none {name}", f"\treturn none, &NotImplemented{{Name: {quoted(tool.name)}}}"]
    return [todo, f"\treturn Decode{tool.type_name}Output([]byte({json_literal(tool.placeholder)}))"]


def test_file(tool: ToolPlan) -> SourceFile:
    """A test to begin with. It says that it tests nothing as long as that is so."""
    name = tool.type_name
    reason = f"nobody has written the tool {tool.name} yet; when you have, take this line away"
    lines = [
        f"func Test{name}Handler(t *testing.T) {{",
        *_refuses(f"Decode{name}Input([]byte("),
        f"\tt.Skip({quoted(reason)})",
        "\t// TODO: give the tool what it needs, and an input that means something.",
        f"\ttool := &{name}Tool{{}}",
        f"\tvar input {name}Input",
        f"\toutput, err := tool.{name}Handler(context.Background(), input)",
        "\tif err != nil {",
        "\t\tt.Fatal(err)",
        "\t}",
        f"\tif _, err := Encode{name}Output(output); err != nil {{",
        "\t\tt.Error(err)",
        "\t}",
        "}",
    ]
    text = source("", PACKAGE, lines, ["context", "testing"])
    return SourceFile(f"{PACKAGE}/{safe_stem(tool.stem)}_test.go", text, "yours", tool.tool_id)


def builtin_test_file(tool: ToolPlan) -> SourceFile:
    """The test of a tool that a running Ferrule brings along (ADL-48): what can be said of it without one."""
    name = tool.type_name
    lines = [
        f"func Test{name}Tool(t *testing.T) {{",
        f"\ttool := New{name}Tool()",
        f"\tif called := tool.Definition().Name; called != {quoted(tool.name)} {{",
        '\t\tt.Errorf("it is called %q", called)',
        "\t}",
        *_refuses("tool.Call(context.Background(), []byte("),
        "}",
    ]
    text = source(header(tool), PACKAGE, lines, ["context", "testing"])
    return SourceFile(f"{PACKAGE}/{safe_stem(tool.stem)}_test.go", text, "generated", tool.tool_id)


def _refuses(taking: str) -> list[str]:
    """A check that what is no JSON is not taken."""
    return [
        f'\tif _, err := {taking}"{{")); err == nil {{',
        '\t\tt.Error("an input that is no JSON was taken")',
        "\t}",
    ]
