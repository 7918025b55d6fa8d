"""The kinds of sinks that come with Ferrule, by the word after `kind` in `[[sinks]]`. Each is a `SinkMaker`."""

SINKS = {
    "jsonl": "ferrule.sinks.jsonl:make",
    "callback": "ferrule.sinks.callback:make",
    "log": "ferrule.sinks.log:make",
}
