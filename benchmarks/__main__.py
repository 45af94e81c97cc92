"""``make bench``: every benchmark, its figures beside the floors of the same run, as JSON."""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys

import benchmarks


def main() -> None:
    """Run the benchmarks that are named, or all, and print one JSON object."""
    names = sorted(
        module.name.removeprefix("bench_")
        for module in pkgutil.iter_modules(benchmarks.__path__)
        if module.name.startswith("bench_")
    )
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    chosen = parser.parse_args().names or names
    if unknown := set(chosen) - set(names):
        parser.error(f"no benchmark {min(unknown)!r}; there are {', '.join(names)}")
    figures = {}
    for name in chosen:
        print(f"{name} …", file=sys.stderr)
        figures[name] = importlib.import_module(f"benchmarks.bench_{name}").run()
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
