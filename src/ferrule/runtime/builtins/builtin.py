"""The built-in tools by their reserved ids. Each is made from its settings and its place; see `executor.py`."""

BUILTINS = {
    "read": "ferrule.runtime.builtins.read:ReadTool",
    "write": "ferrule.runtime.builtins.write:WriteTool",
    "edit": "ferrule.runtime.builtins.edit:EditTool",
    "bash": "ferrule.runtime.builtins.bash:BashTool",
    "fetch": "ferrule.runtime.builtins.fetch:FetchTool",
}
