"""Every fake upstream, one line each: `name: "module:function"`. The part before a comma is the transport."""

FAKE_UPSTREAMS = {
    "rest-api": "tests.contracts.transports.fake_rest:running_upstream",
    "mcp, newest": "tests.contracts.transports.fake_mcp:newest",
    "mcp, sessions": "tests.contracts.transports.fake_mcp:with_sessions",
    "mcp, events": "tests.contracts.transports.fake_mcp:over_events",
    "oxp": "tests.contracts.transports.fake_oxp:running_upstream",
    "lambda": "tests.contracts.transports.fake_lambda:running_upstream",
    "message-queue": "tests.contracts.transports.fake_queue:running_upstream",
    "database, postgresql": "tests.contracts.transports.fake_postgresql:running_upstream",
    "database, mysql": "tests.contracts.transports.fake_mysql:running_upstream",
}
