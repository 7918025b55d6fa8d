"""The floor over standard streams: a bare loop that reads a line as JSON and writes one. It adds nothing up.

python serve_floor_stdio.py
"""

import json
import sys


def main() -> None:
    """One line out for each request."""
    read, write = sys.stdin.buffer, sys.stdout.buffer
    for line in read:
        request = json.loads(line)
        if "id" in request:
            answer = {"jsonrpc": "2.0", "id": request["id"], "result": {"content": [{"type": "text", "text": "3"}]}}
            write.write(json.dumps(answer).encode() + b"\n")
            write.flush()


if __name__ == "__main__":
    main()
