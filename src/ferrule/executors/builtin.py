"""The executors that come with Ferrule, and where other packages register theirs.

A registered executor is made without arguments when a tool comes that none of ours can run. `function` is not: it gets the
functions of the process; nor are those of transports, which get the process's `Surroundings` when the first of their tools is
called.
"""

EXECUTORS = {"function": "ferrule.executors.function:FunctionExecutor"}
FUNCTION = "function"
GROUP = "ferrule.executors"

TRANSPORTS = {
    "rest-api": "ferrule.executors.rest.executor:RestExecutor",
    "mcp": "ferrule.executors.mcp.executor:McpExecutor",
    "oxp": "ferrule.executors.oxp.executor:OxpExecutor",
    "lambda": "ferrule.executors.lambda_.executor:LambdaExecutor",
    "message-queue": "ferrule.executors.queue.executor:QueueExecutor",
    "database": "ferrule.executors.database.executor:DatabaseExecutor",
    "human": "ferrule.executors.human.executor:HumanExecutor",
}
