"""Python functions as tools: `@tool` marks them, `functions_in` collects them, a `Binding` says which tool one is.

Nothing is registered anywhere: a marked function is still a plain function. `executors/function.py` runs them.
"""

from ferrule.functions.binding import Binding as Binding
from ferrule.functions.decorator import ToolFunction as ToolFunction
from ferrule.functions.decorator import tool as tool
from ferrule.functions.exposing import prompt as prompt
from ferrule.functions.exposing import resource as resource
from ferrule.functions.failure import ToolFailed as ToolFailed
from ferrule.functions.gather import bound_functions as bound_functions
from ferrule.functions.gather import functions_in as functions_in
from ferrule.functions.gather import load_modules as load_modules
from ferrule.functions.inject import Inject as Inject
from ferrule.functions.inject import service as service
