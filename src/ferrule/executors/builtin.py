"""The executors that come with Ferrule, and where other packages register theirs.

A registered executor is made without arguments when an app is opened. `function` is not: it gets the functions of the process.
"""

EXECUTORS = {"function": "ferrule.executors.function:FunctionExecutor"}
FUNCTION = "function"
GROUP = "ferrule.executors"
