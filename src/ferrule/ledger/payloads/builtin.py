"""The payload stores that come with Ferrule. Each entry makes the live part from what it needs."""

PAYLOADS = {
    "files": "ferrule.ledger.payloads.files:FilePayloads",
    "memory": "ferrule.ledger.payloads.memory:MemoryPayloads",
}
