"""The payload stores that come with Ferrule. Each entry makes the live part from what it needs."""

PAYLOADS = {
    "files": "ferrule.payloads.files:FilePayloads",
    "memory": "ferrule.payloads.memory:MemoryPayloads",
}
