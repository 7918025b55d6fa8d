"""The dialects that come with Ferrule, in the order they are asked."""

DIALECTS = {
    "aml": "ferrule.definitions.dialects.aml:DIALECT",
    "adl": "ferrule.definitions.dialects.adl:DIALECT",
    "oxp": "ferrule.definitions.dialects.oxp:DIALECT",
    "agent_tool": "ferrule.definitions.dialects.agent_tool:DIALECT",
}
