"""Implementation stubs of a tool: the generated types with their description, and the file that a person fills in."""

from __future__ import annotations

import msgspec

from ferrule.contracts.language import Plan, SourceFile, ToolPlan
from ferrule.definitions.stubs.languages.rust.contents import Contents, contents, header, imports
from ferrule.definitions.stubs.languages.rust.injection import Parameter, parameters
from ferrule.definitions.stubs.languages.rust.layout import array, constant, signature
from ferrule.definitions.stubs.languages.rust.text import documentation, json_text, lines, literal, raw

_CONTRACT = """// What goes in and out is in generated/{stem}.rs.
// When that changes, the next line no longer compiles: look at that file, mend the code here, then
// write the digits that it has now.
const _: () = generated::CONTRACT_{contract};
"""


_PLAIN = ("input: generated::Input", "context: &Context")
_MANY = 7
"""Clippy warns of functions with more parameters."""


def generated_file(tool: ToolPlan) -> tuple[SourceFile, Contents]:
    """`src/tools/generated/<stem>.rs`."""
    made = contents(tool)
    described = f"{_description(tool)}\n{_placeholder(tool)}"
    used = imports("super::super::support", described, made.text, "tool::{Descriptor, ToolError};")
    text = f"{header(tool)}\n{used}\n{described}\n{made.text}"
    return SourceFile(f"src/tools/generated/{tool.stem}.rs", text, "generated", tool.tool_id), made


def handler_file(tool: ToolPlan, plan: Plan) -> SourceFile:
    """`src/tools/<stem>.rs`: a person's, or for a tool that comes along with Ferrule, ready."""
    path = f"src/tools/{tool.stem}.rs"
    if tool.builtin:
        return SourceFile(path, _builtin(tool), "generated", tool.tool_id)
    given = parameters(tool, plan.project)
    text = f"{_top(tool, given)}\n{_handle(tool, given)}\n{_tests(tool)}"
    return SourceFile(path, text, "yours", tool.tool_id)


def contract(tool: ToolPlan) -> str:
    """The digits of the contract as an identifier has them."""
    return tool.contract.upper()


def _description(tool: ToolPlan) -> str:
    consts = [
        "/// Changes when what the tool takes or gives does.\n",
        f"pub const CONTRACT_{contract(tool)}: () = ();\n\n",
        constant("const NAME: &str =", literal(tool.name)),
        constant("const TITLE: &str =", literal(tool.title)),
        constant("const DESCRIPTION: &str =", literal(tool.description)),
        array("const TAGS: &[&str] =", [literal(tag) for tag in tool.tags]),
    ]
    output = "Some(&OUTPUT)" if tool.output_schema is not None else "None"
    return f"""{"".join(consts)}
/// What the tool is called and takes.
pub fn descriptor() -> Descriptor {{
    Descriptor {{
        name: NAME,
        title: TITLE,
        description: DESCRIPTION,
        tags: TAGS,
        input: &INPUT,
        output: {output},
        strict: false,
    }}
}}
"""


def _placeholder(tool: ToolPlan) -> str:
    before, body = "", "Err(ToolError::not_implemented(NAME))"
    if tool.output_schema is None:
        body = 'Ok(json!({ "tool": NAME, "message": "not implemented yet" }))'
    elif tool.placeholder is not None:
        text = json_text(tool.placeholder)
        before = constant("const PLACEHOLDER: &str =", raw(text)) + "\n"
        body = "Ok(decode_output(PLACEHOLDER.as_bytes())?)"
    return f"""{before}/// A result for a tool that nobody has written yet.
pub fn placeholder() -> Result<Output, ToolError> {{
    {body}
}}
"""


def _top(tool: ToolPlan, given: list[Parameter]) -> str:
    logger = ", Logger" if any(each.type == "&Logger" for each in given) else ""
    title = " ".join(lines(tool.title or tool.name)) or "A tool."
    return f"""{documentation([[title]], mark="//!")}
use super::generated::{tool.stem} as generated;
use super::support::tool::{{Context, Descriptor{logger}, ToolError}};

{_CONTRACT.format(stem=tool.stem, contract=contract(tool))}
/// What the tool is called and takes.
pub fn descriptor() -> Descriptor {{
    generated::descriptor()
}}
"""


def _handle(tool: ToolPlan, given: list[Parameter]) -> str:
    listed = [*_PLAIN, *(f"{each.name}: {each.type}" for each in given)]
    many = "#[allow(clippy::too_many_arguments)]\n" if len(listed) > _MANY else ""
    unused = "".join(f"    let _ = {name};\n" for name in ("input", "context", *(each.name for each in given)))
    return (
        f"{documentation([lines(tool.description)])}{many}"
        f"{signature('pub fn handle', listed, 'Result<generated::Output, ToolError>')}"
        f"    // TODO: write the tool. What it does not use yet stands here.\n{unused}"
        f"    generated::placeholder()\n}}\n"
    )


def _tests(tool: ToolPlan) -> str:
    schema = msgspec.json.decode(tool.input_schema)
    is_object = isinstance(schema, dict) and schema.get("type") == "object"
    return _TESTS.replace("ODD", "[]" if is_object else "no JSON")


_TESTS = """#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_does_not_fit() {
        assert!(generated::decode_input(b"ODD").is_err());
    }

    #[test]
    #[ignore = "write arguments that the tool takes, and what it has to give for them"]
    fn gives_what_its_schema_says() -> Result<(), ToolError> {
        let tools = super::super::all()?;
        let tool = tools
            .iter()
            .find(|tool| tool.descriptor.name == descriptor().name)
            .ok_or_else(|| ToolError::new("the tool is not registered"))?;
        let output = tool.call(serde_json::json!({}), &Context::detached())?;
        assert_eq!(output, serde_json::json!("what it has to give"));
        Ok(())
    }
}
"""


def _builtin(tool: ToolPlan) -> str:
    return f"""{header(tool)}
//! Comes along with Ferrule, which runs it: this calls the Ferrule that `FERRULE_URL` and
//! `FERRULE_TOKEN` name.

use super::generated::{tool.stem} as generated;
use super::support::forward::forward;
use super::support::tool::{{Context, Descriptor, ToolError}};

/// What the tool is called and takes.
pub fn descriptor() -> Descriptor {{
    generated::descriptor()
}}

{documentation([lines(tool.description)])}{signature("pub fn handle", _PLAIN, "Result<generated::Output, ToolError>")}\
    forward(&descriptor(), &input, context)
}}
"""
