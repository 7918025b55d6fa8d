"""`make bench`: runs the groups, prints a table and writes bench/results.json.

python -m bench.run [--only check] [--size 10000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bench import check
from bench.measure import Row, machine, show, versions

HERE = Path(__file__).parent
GROUPS = {"check": check.run_group}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=sorted(GROUPS), help="run one group")
    parser.add_argument("--size", type=int, default=10_000, help="tools in the main measurements")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds; the median counts")
    parser.add_argument("--peers", default=str(HERE / "peers" / ".venv" / "bin" / "python"))
    parser.add_argument("--unproven", action="store_true", help="do not insist that every planted mistake is found")
    options = parser.parse_args()
    bench = check.Bench(size=options.size, rounds=options.rounds, peers=options.peers, unproven=options.unproven)
    table: list[Row] = []
    for name, group in GROUPS.items():
        if options.only in {None, name}:
            for row in group(bench):
                table.append(row)
                print(f"  {row['work']}: {row['contender']} {row['median']} {row['unit']}", flush=True)
    results = {"machine": machine(), "versions": versions(options.peers), "size": options.size, "rows": table}
    (HERE / "results.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    print()
    print(show(table))


if __name__ == "__main__":
    main()
