"""The kinds of sinks that come with Ferrule, by the word after `kind` in `[[sinks]]`. Each is a `SinkMaker`."""

SINKS = {
    "jsonl": "ferrule.ledger.sinks.jsonl:make",
    "callback": "ferrule.ledger.sinks.callback:make",
    "log": "ferrule.ledger.sinks.log:make",
}
