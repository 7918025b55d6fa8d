"""The built-in tools by their reserved ids. `executor.py` builds each from its settings and the shared services."""

BUILTINS = {
    "read": "ferrule.runtime.builtins.read:ReadTool",
    "write": "ferrule.runtime.builtins.write:WriteTool",
    "edit": "ferrule.runtime.builtins.edit:EditTool",
    "bash": "ferrule.runtime.builtins.bash:BashTool",
    "fetch": "ferrule.runtime.builtins.fetch:FetchTool",
}
