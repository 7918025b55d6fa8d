"""The executors that come with Ferrule."""

EXECUTORS = {"function": "ferrule.executors.function:FunctionExecutor"}
