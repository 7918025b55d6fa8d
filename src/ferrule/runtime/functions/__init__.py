"""Python functions as tools: `@tool` marks them, `functions_in` collects them, a `Binding` says which tool a function
is.

Marking registers nothing: a marked function stays a plain function. It imports `runtime/executors`, `runtime/surface`,
`infra`, `schema`, `contracts`, `model` and `errors`. It does not know calls; the function executor runs the functions.
"""

from ferrule.runtime.functions.binding import Binding as Binding
from ferrule.runtime.functions.decorators import ToolFunction as ToolFunction
from ferrule.runtime.functions.decorators import prompt as prompt
from ferrule.runtime.functions.decorators import resource as resource
from ferrule.runtime.functions.decorators import tool as tool
from ferrule.runtime.functions.discovery import bind_functions as bind_functions
from ferrule.runtime.functions.discovery import functions_in as functions_in
from ferrule.runtime.functions.discovery import load_modules as load_modules
from ferrule.runtime.functions.failures import ToolFailed as ToolFailed
from ferrule.runtime.functions.inject import Arguments as Arguments
from ferrule.runtime.functions.inject import Inject as Inject
from ferrule.runtime.functions.inject import service as service
