"""`ferrule call` of a tool behind a queue: whoever stays gets the reply, whoever does not is told what is waited for."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from tests.cli.run import ferrule
from tests.infra.clouds.amazon import amazon
from tests.runtime.executors.queue.tools import queue_tool

SETTINGS = '[network]\nallow = ["127.0.0.1"]\n[policy]\nmode = "trusted"\n'


def test_a_caller_who_stays_gets_the_reply_and_one_who_does_not_learns_what_is_waited_for(tmp_path: Path) -> None:
    with amazon() as aws:
        sqs = aws.client("sqs")
        jobs, replies = (sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("jobs", "replies"))
        (tmp_path / "ferrule.toml").write_text(SETTINGS)
        (tmp_path / "ask.tool.md").write_text(queue_tool("ask", "aws", jobs, response_queue_url=replies))

        waiting = ferrule("call", "ask", "--text", "a", folder=tmp_path, environment=aws.environment())
        assert waiting.code == 3, waiting.err
        assert f"waiting: the message was sent; its reply is expected by queue:{replies}" in waiting.err
        assert "who is waited for: ferrule pending" in waiting.err
        sqs.purge_queue(QueueUrl=jobs)

        def work() -> None:
            found = sqs.receive_message(QueueUrl=jobs, MessageAttributeNames=["All"], WaitTimeSeconds=20)
            asked = found["Messages"][0]["MessageAttributes"]["correlation_id"]["StringValue"]
            body = json.dumps({"correlation_id": asked, "result": {"text": "twelve"}})
            sqs.send_message(QueueUrl=replies, MessageBody=body)

        worker = threading.Thread(target=work)
        worker.start()
        stayed = ferrule("call", "ask", "--text", "b", "--wait", "30", folder=tmp_path, environment=aws.environment())
        worker.join()
        assert stayed.code == 0, stayed.err
        assert json.loads(stayed.out) == {"text": "twelve"}
