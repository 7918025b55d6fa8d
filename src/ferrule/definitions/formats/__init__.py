"""One file per format that tools are exported to or imported from: MCP, OpenAPI, and the providers' tool lists.

`builtin.py` lists them. They implement `contracts/format.py` and import `schema`, `infra/lockfile`,
`definitions/openapi`, `contracts` and `model`. They do not know files or workspaces.
"""
