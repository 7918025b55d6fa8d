"""The dialects that come with Ferrule, in the order they are asked."""

DIALECTS = {
    "aml": "ferrule.dialects.aml:DIALECT",
    "adl": "ferrule.dialects.adl:DIALECT",
    "oxp": "ferrule.dialects.oxp:DIALECT",
    "agent_tool": "ferrule.dialects.agent_tool:DIALECT",
}
