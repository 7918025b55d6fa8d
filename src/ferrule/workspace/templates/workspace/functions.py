"""What runs the tools here. The files in tools/ say what a tool is; a function bound to it by name does it.

Replace the sample data with your systems. Every call is validated, decided by the policy and recorded before it gets here.
"""

import sys

import ferrule

CUSTOMERS = {"ana@example.org": {"name": "Ana Ferreira", "plan": "team", "open_tickets": 1}}


@ferrule.tool("find-customer")
async def find_customer(email: str) -> dict[str, object]:
    if email not in CUSTOMERS:
        raise ferrule.ToolFailed(f"no customer has the address {email}")  # the model reads this
    return CUSTOMERS[email]


@ferrule.tool("send-reply")
async def send_reply(to: str, subject: str, body: str) -> dict[str, object]:
    print(f"(a mail to {to} would go out now: {subject})", file=sys.stderr)
    return {"message_id": "sample-1"}


# A function without a definition is a tool of its own, made from its types and this text.
@ferrule.tool(read_only=True)
def working_hours(country: str) -> str:
    """Tell when the support team of a country answers. Use it before promising an answer today.

    Args:
        country: The country, as two capital letters.
    """
    return "9 to 17" if country == "PT" else "10 to 16"
