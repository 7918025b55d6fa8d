"""Clouds for the tests of this folder: a small Lambda, Google Cloud, Azure, and a function that a test plays itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.infra.clouds.far import far
from tests.infra.clouds.google import Google, google
from tests.infra.clouds.microsoft import Azure, microsoft
from tests.runtime.executors.lambda_.runtime import Lambda, local_lambda
from tests.runtime.executors.lambda_.tools import Functions

ECHO = "def handler(event, context):\n    return event"
FAILS = "def handler(event, context):\n    raise KeyError('words-canary')"
NOTHING = "def handler(event, context):\n    return None"
SLOW = "import time\ndef handler(event, context):\n    time.sleep(30)\n    return {}"
WAITS = """
import os, time
def handler(event, context):
    while not os.path.exists(event["text"]):
        time.sleep(0.01)
    return {"text": "late"}
"""


@pytest.fixture
def aws() -> Iterator[Lambda]:
    with local_lambda(echo=ECHO, fails=FAILS, nothing=NOTHING, slow=SLOW, waits=WAITS) as made:
        yield made


@pytest.fixture
def gcp() -> Iterator[Google]:
    with google() as made:
        made.function_answer = {"text": "from google"}
        yield made


@pytest.fixture
def azure() -> Iterator[Azure]:
    with microsoft() as made:
        made.function_answer = {"text": "from azure"}
        yield made


@pytest.fixture
def there() -> Iterator[Functions]:
    made = Functions()
    with far(made.answer) as server:
        made.far = server
        yield made
        made.gate.set()
