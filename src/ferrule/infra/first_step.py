"""A coroutine whose first step was made already: the rest of it, to be awaited like the whole.

Most tools that compute or look something up answer without waiting for anything. Their first step is their last, and
nothing has to be arranged for them to be told to stop.
"""

from __future__ import annotations

import types
from collections.abc import Coroutine, Generator
from typing import Any


@types.coroutine
def rest_of(running: Coroutine[Any, Any, Any], waited: Any) -> Generator[Any, Any, Any]:
    """What is left of a coroutine after its first step, which waits for `waited`. What is thrown in here is thrown into it."""
    while True:
        try:
            sent = yield waited
        except GeneratorExit:
            running.close()
            raise
        except BaseException as error:
            thrown: BaseException | None = error
        else:
            thrown = None
        try:
            waited = running.send(sent) if thrown is None else running.throw(thrown)
        except StopIteration as ended:
            return ended.value
