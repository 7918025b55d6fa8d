"""Tools that ask the calling client: for a form, for a text of its model, for its roots."""

from __future__ import annotations

from typing import Any

import ferrule
from ferrule.contracts.executor import Context, Output

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
OK = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
ROOTS: dict[str, Any] = {"method": "roots/list", "params": {}}


def text(said: str) -> Output:
    """What a tool gives that has something to say."""
    return Output(content=({"type": "text", "text": said},))


def form(message: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A form for the person at the client."""
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def sampling(prompt: str) -> dict[str, Any]:
    """A question for the client's model."""
    message = {"role": "user", "content": {"type": "text", "text": prompt}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}}


def said(answer: dict[str, Any]) -> str:
    """The text in what a model answered."""
    content = answer.get("content", {})
    blocks = content if isinstance(content, list) else [content]
    return " ".join(str(block.get("text", "")) for block in blocks)


@ferrule.tool(read_only=True, concurrency_safe=True)
async def test_sampling(prompt: str, context: Context) -> Any:
    """Asks the client's model.

    Args:
        prompt: What it is asked.
    """
    return context.ask_client({"answer": sampling(prompt)})


@test_sampling.resume
async def _sampled(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    return text(f"LLM response: {said(answer['answer'])}")


@ferrule.tool(read_only=True, concurrency_safe=True)
async def test_elicitation(message: str, context: Context) -> Any:
    """Asks the person at the client.

    Args:
        message: What they are told.
    """
    schema = {
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    }
    return context.ask_client({"person": form(message, schema)})


@test_elicitation.resume
async def _elicited(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    return text(f"User response: {answer['person']}")


@ferrule.tool(read_only=True, concurrency_safe=True)
async def test_elicitation_sep1034_defaults(context: Context) -> Any:
    """Asks with a form that has something in every field already."""
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "User name", "default": "John Doe"},
            "age": {"type": "integer", "description": "User age", "default": 30},
            "score": {"type": "number", "description": "User score", "default": 95.5},
            "status": {
                "type": "string",
                "description": "User status",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": {"type": "boolean", "description": "Verification status", "default": True},
        },
        "required": [],
    }
    return context.ask_client({"person": form("Please review and update the form fields with defaults", schema)})


@test_elicitation_sep1034_defaults.resume
async def _with_defaults(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    return text(f"Elicitation completed: {answer['person']}")


@ferrule.tool(read_only=True, concurrency_safe=True)
async def test_elicitation_sep1330_enums(context: Context) -> Any:
    """Asks with a form that has every kind of choice."""
    titled = [{"const": f"value{n}", "title": f"{n}. Option"} for n in (1, 2, 3)]
    plain = ["option1", "option2", "option3"]
    schema = {
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "description": "Select one option", "enum": plain},
            "titledSingle": {"type": "string", "description": "Select one option with titles", "oneOf": titled},
            "legacyEnum": {
                "type": "string",
                "description": "Select one option (legacy)",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {
                "type": "array",
                "description": "Select multiple options",
                "minItems": 1,
                "maxItems": 3,
                "items": {"type": "string", "enum": plain},
            },
            "titledMulti": {
                "type": "array",
                "description": "Select multiple options with titles",
                "minItems": 1,
                "maxItems": 3,
                "items": {"anyOf": titled},
            },
        },
        "required": [],
    }
    return context.ask_client({"person": form("Please select options from the enum fields", schema)})


@test_elicitation_sep1330_enums.resume
async def _with_choices(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    return text(f"Elicitation completed: {answer['person']}")


@ferrule.tool(read_only=True, concurrency_safe=True)
async def test_missing_capability(context: Context) -> Any:
    """Needs the client's model, whether it has one or not."""
    return context.ask_client({"answer": sampling("Say something.")})


@test_missing_capability.resume
async def _not_missing(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    return text(said(answer["answer"]))


@ferrule.tool(read_only=True, concurrency_safe=True)
async def test_streaming_elicitation(context: Context) -> Any:
    """Tells how far it is, then asks the person at the client."""
    context.progress("about to ask", percent=50)
    return context.ask_client({"person": form("What is your name?", NAME)})


@test_streaming_elicitation.resume
async def _streamed(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    return text(f"User response: {answer['person']}")


@ferrule.tool(read_only=True, concurrency_safe=True)
async def test_input_required_result_elicitation(context: Context) -> Any:
    """Asks the person at the client for a name."""
    return context.ask_client({"user_name": form("What is your name?", NAME)})


@test_input_required_result_elicitation.resume
async def _named(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    content = answer["user_name"].get("content") or {}
    return text(f"Hello, {content.get('name', 'stranger')}!")


@ferrule.tool(read_only=True, concurrency_safe=True)
async def test_input_required_result_sampling(context: Context) -> Any:
    """Asks the client's model for a capital."""
    return context.ask_client({"capital_question": sampling("What is the capital of France?")})


@test_input_required_result_sampling.resume
async def _capital(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    return text(said(answer["capital_question"]))


@ferrule.tool(read_only=True, concurrency_safe=True)
async def test_input_required_result_list_roots(context: Context) -> Any:
    """Asks the client for its roots."""
    return context.ask_client({"client_roots": ROOTS})


@test_input_required_result_list_roots.resume
async def _rooted(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    return text(f"roots: {len(answer['client_roots'].get('roots', ()))}")


@ferrule.tool(read_only=True, concurrency_safe=True)
async def test_input_required_result_request_state(context: Context) -> Any:
    """Asks, and remembers something meanwhile."""
    return context.ask_client({"confirm": form("Please confirm", OK)}, state=b"state-ok")


@test_input_required_result_request_state.resume
async def _remembered(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    return text(state.decode())


@ferrule.tool(read_only=True, concurrency_safe=True)
async def test_input_required_result_multiple_inputs(context: Context) -> Any:
    """Asks for three things at once."""
    requests = {
        "user_name": form("What is your name?", NAME),
        "greeting": sampling("Generate a greeting"),
        "client_roots": ROOTS,
    }
    return context.ask_client(requests, state=b"three")


@test_input_required_result_multiple_inputs.resume
async def _all_three(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    return text(f"{said(answer['greeting'])} {answer['user_name'].get('content')}")


@ferrule.tool(read_only=True, concurrency_safe=True)
async def test_input_required_result_multi_round(context: Context) -> Any:
    """Asks, and asks again."""
    return context.ask_client({"step1": form("What is your name?", NAME)}, state=b"1")


@test_input_required_result_multi_round.resume
async def _next_round(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    if state == b"1":
        color = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}
        return context.ask_client({"step2": form("What is your favourite colour?", color)}, state=b"2")
    return text(f"Thank you: {answer['step2'].get('content')}")


@ferrule.tool(read_only=True, concurrency_safe=True)
async def test_input_required_result_tampered_state(context: Context) -> Any:
    """Asks, and goes on only with what it remembered itself."""
    return context.ask_client({"confirm": form("Please confirm", OK)}, state=b"untouched")


@test_input_required_result_tampered_state.resume
async def _untouched(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    return text(state.decode())


@ferrule.tool(read_only=True, concurrency_safe=True)
async def test_input_required_result_capabilities(context: Context) -> Any:
    """Asks for whatever the client can give."""
    possible = {
        "elicitation": ("user_name", form("What is your name?", NAME)),
        "sampling": ("greeting", sampling("Generate a greeting")),
        "roots": ("client_roots", ROOTS),
    }
    requests = {key: request for feature, (key, request) in possible.items() if feature in context.client}
    return context.ask_client(requests) if requests else text("nothing can be asked")


@test_input_required_result_capabilities.resume
async def _given(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    return text(f"given: {', '.join(sorted(answer))}")
