"""How every ASGI application of the group `serve` is run: uvicorn with httptools and uvloop, one process, no access log."""

import sys

import uvicorn


def tools_wanted() -> int:
    """How many tools the command line asks for."""
    return int(sys.argv[3]) if len(sys.argv) > 3 else 1


def listen(app) -> None:
    """Serve an application on the port that the command line names."""
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(sys.argv[2]),
        loop="uvloop",
        http="httptools",
        log_level="error",
        access_log=False,
    )
