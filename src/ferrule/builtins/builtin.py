"""The built-in tools by their reserved ids. Each is made from its settings and its place; see `executor.py`."""

BUILTINS = {
    "read": "ferrule.builtins.read:ReadTool",
    "write": "ferrule.builtins.write:WriteTool",
    "edit": "ferrule.builtins.edit:EditTool",
    "bash": "ferrule.builtins.bash:BashTool",
    "fetch": "ferrule.builtins.fetch:FetchTool",
}
