"""Looking through a megabyte for two hundred secrets in all their spellings. Prints milliseconds of processor time.

python -m bench.redaction [--rounds 5] [--secrets 200]

Beside ours stand the plain ways to do the same: one regular expression of all spellings, and `bytes.find` for each of them.
"""

from __future__ import annotations

import argparse
import base64
import random
import re
import string
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

from bench.measure import at_most, machine, show_goals
from ferrule.model.persistence import RedactionSettings
from ferrule.runtime.redaction.redactor import KnownSecrets
from ferrule.runtime.redaction.spellings import list_spellings

MEGABYTE = 1_000_000
WANTED = 10.0
"""Milliseconds for a text."""


def secrets(count: int) -> dict[str, str]:
    """Half of them plain tokens, half with quotes, blanks and other characters that are escaped."""
    dice = random.Random(7)
    letters = string.ascii_letters + string.digits
    odd = letters + "\"'\\/ +&é\n<"
    return {
        f"SECRET_{number}": "".join(dice.choice(odd if number % 2 else letters) for _ in range(dice.randint(16, 48)))
        for number in range(count)
    }


def materials() -> dict[str, Any]:
    """Texts and a value of about a megabyte each."""
    dice = random.Random(8)
    words = ["parcel", "order", "the", "of", "customer", "https://shop.example/a", "4711", "soon;", "and", "\n"]
    prose = " ".join(dice.choice(words) for _ in range(MEGABYTE // 6))[:MEGABYTE]
    encoded = base64.b64encode(dice.randbytes(MEGABYTE * 3 // 4)).decode()
    wrapped = base64.encodebytes(dice.randbytes(MEGABYTE * 73 // 100)).decode()
    records = [{"id": n, "name": f"order {n}", "digest": dice.randbytes(8).hex()} for n in range(16_000)]
    return {"prose": prose, "base64": encoded, "base64, wrapped": wrapped, "records": records}


def taken(count: int, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of processor time for each material, looked through for so many secrets, round by round."""
    known, given = secrets(count), materials()
    redactor = KnownSecrets(RedactionSettings(secrets_env=tuple(known)), known)
    redactor.text("")
    found: dict[str, list[float]] = {name: [] for name in given}
    for number in range(rounds + 1):
        for name, material in given.items():
            look = redactor.text if isinstance(material, str) else redactor.value
            cost = _milliseconds(partial(look, material))
            if number:  # the first one warms up
                found[name].append(cost)
    return found


def _milliseconds(work: Callable[[], Any]) -> float:
    began = time.thread_time()
    work()
    return (time.thread_time() - began) * 1000


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--secrets", type=int, default=200)
    options = parser.parse_args()
    known = secrets(options.secrets)
    redactor = KnownSecrets(RedactionSettings(secrets_env=tuple(known)), known)
    print(machine())
    print(f"making it ready: {_milliseconds(lambda: redactor.text('')):.1f} ms")
    found = {name: median(rounds) for name, rounds in taken(options.secrets, options.rounds).items()}
    print(
        show_goals(
            [at_most(f"1 MB of {name}, {options.secrets} secrets", cost, WANTED, "ms") for name, cost in found.items()]
        )
    )
    data = materials()["prose"].encode()
    forms = {spelling.text for secret in known.values() for spelling in list_spellings(secret)}
    one = re.compile(b"|".join(map(re.escape, sorted(forms, key=len, reverse=True))))
    print(f"beside it, {len(forms)} spellings in the prose:")
    print(f"  bytes.find for each  {_milliseconds(lambda: [data.find(form) for form in forms]):,.0f} ms")
    print(f"  one expression       {_milliseconds(lambda: one.search(data)):,.0f} ms")


if __name__ == "__main__":
    main()
