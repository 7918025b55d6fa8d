"""Every stand, one line each: `name: "module:function"`. The part before a comma is the transport."""

STANDS = {
    "rest-api": "tests.contracts.transports.rest_stand:stand",
    "mcp, newest": "tests.contracts.transports.mcp_stand:newest",
    "mcp, sessions": "tests.contracts.transports.mcp_stand:with_sessions",
    "mcp, events": "tests.contracts.transports.mcp_stand:over_events",
    "oxp": "tests.contracts.transports.oxp_stand:stand",
    "lambda": "tests.contracts.transports.lambda_stand:stand",
    "message-queue": "tests.contracts.transports.queue_stand:stand",
    "database, postgresql": "tests.contracts.transports.postgresql_stand:stand",
    "database, mysql": "tests.contracts.transports.mysql_stand:stand",
}
