"""Measure the product and print one JSON object: `python -m benchmarks [part ...]`.

Exits with 1 when an answer is wrong or a limit is passed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import platform
import sqlite3
import sys
from typing import Any

import numpy as np

import benchmarks

PARTS = sorted(
    module.name.removeprefix("bench_")
    for module in pkgutil.iter_modules(benchmarks.__path__)
    if module.name.startswith("bench_")
)


def main(arguments: list[str] | None = None) -> int:
    """Run the parts named, all by default, and print what they measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    chosen = parser.parse_args(arguments).parts or PARTS
    unknown = [part for part in chosen if part not in PARTS]
    if unknown:
        parser.error(f"no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    report = measure(chosen)
    print(json.dumps(report, indent=2))
    failed = [name for name, passed in report["checks"].items() if not passed]
    for name in failed:
        print(f"does not hold: {name}", file=sys.stderr)
    return 1 if failed else 0


def measure(parts: list[str]) -> dict[str, Any]:
    """Return the environment, and each part's results, ratios and checks."""
    report: dict[str, Any] = {"env": environment(), "results": {}, "ratios": {}, "checks": {}}
    for part in parts:
        print(f"measuring {part}", file=sys.stderr)
        module = importlib.import_module(f"benchmarks.bench_{part}")
        results = module.run()
        if hasattr(module, "checks"):
            report["checks"] |= module.checks(results)
        ratios = results.pop("ratios", {})
        report["ratios"] |= {f"{part}.{name}": value for name, value in ratios.items()}
        report["results"][part] = results
    return report


def environment() -> dict[str, Any]:
    """Return what the figures depend on."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "load": [round(value, 2) for value in os.getloadavg()],
        "numpy": np.__version__,
        "sqlite": sqlite3.sqlite_version,
    }


if __name__ == "__main__":
    sys.exit(main())
