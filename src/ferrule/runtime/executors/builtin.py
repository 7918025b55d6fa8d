"""The executors that come with Ferrule, and where other packages register theirs.

A registered executor is built without arguments when a tool comes that none of ours can run. `function` is built with the
functions of the process, those of transports with the process's `TransportServices` when their first tool is called.
"""

EXECUTORS = {"function": "ferrule.runtime.executors.function:FunctionExecutor"}
FUNCTION = "function"
GROUP = "ferrule.executors"

TRANSPORTS = {
    "rest-api": "ferrule.runtime.executors.rest.executor:RestExecutor",
    "mcp": "ferrule.runtime.executors.mcp.executor:McpExecutor",
    "oxp": "ferrule.runtime.executors.oxp.executor:OxpExecutor",
    "lambda": "ferrule.runtime.executors.lambda_.executor:LambdaExecutor",
    "message-queue": "ferrule.runtime.executors.queue.executor:QueueExecutor",
    "database": "ferrule.runtime.executors.database.executor:DatabaseExecutor",
    "human": "ferrule.runtime.executors.human.executor:HumanExecutor",
}
