"""Compare the installed ``oracleagentmemory`` with the documented public surface.

    python -m tests.contract.surface            # the names that the documentation has
    python -m tests.contract.surface --all      # every public name of the release
    python -m tests.contract.surface --verbose  # list all that differs

Each check is one fact: a name can be imported from its public paths, a class has a method, a method
has a parameter of that kind and default, an enum has that member and value, a dataclass has that
field. The last line is `surface: <held> of <facts>`; the exit status is 0 only when all hold.
Additions of ours never count against us.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "pages" / "surface.json"
KINDS = {
    "po": inspect.Parameter.POSITIONAL_ONLY,
    "pk": inspect.Parameter.POSITIONAL_OR_KEYWORD,
    "ko": inspect.Parameter.KEYWORD_ONLY,
}

Spec = dict[str, Any]
#: A fact in words, and whether it holds.
Fact = tuple[str, bool]


def documented(*, every: bool = False) -> dict[str, Spec]:
    """The names to check, with what the release has for each."""
    page: dict[str, Spec] = json.loads(PAGE.read_text(encoding="utf-8"))
    return {name: spec for name, spec in page.items() if every or spec["in_seeds"]}


def facts_of(name: str, spec: Spec) -> Iterator[Fact]:
    """Check one public name: its paths, its kind and what it holds."""
    thing = None
    for path in sorted(_paths(name, spec)):
        try:
            thing = _resolve(path)
        except (ImportError, AttributeError) as problem:
            yield f"{path}: {type(problem).__name__}: {problem}", False
        else:
            yield path, True
    if thing is None:
        return
    for member, value in spec.get("members", {}).items():
        got = getattr(thing, "__members__", {}).get(member)
        yield f"{name}.{member} = {value!r}", got is not None and got.value == value
    for field in spec.get("fields", []):
        has = field["n"] in getattr(thing, "__dataclass_fields__", {})
        yield f"{name} field {field['n']}", has
    if spec["kind"] == "function":
        yield from _signature_facts(name, thing, spec)
    for method, wanted in spec.get("methods", {}).items():
        yield from _method_facts(f"{name}.{method}", getattr(thing, method, None), wanted)
    for prop in spec.get("properties", []):
        yield f"{name}.{prop} property", hasattr(thing, prop)


def _paths(name: str, spec: Spec) -> set[str]:
    # A path through a module that only happens to import the name is no promise.
    paths = {name, *spec.get("exported_from", [])}
    defined = spec.get("defined_in", "")
    if defined and not any(part.startswith("_") for part in defined.split(".")):
        paths.add(f"{defined}.{name.rpartition('.')[2]}")
    return paths


def _resolve(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _method_facts(where: str, got: Any, wanted: Spec) -> Iterator[Fact]:
    yield where, callable(got)
    if not callable(got):
        return
    if where.endswith("_async"):
        yield f"{where} is awaitable", inspect.iscoroutinefunction(got)
    yield from _signature_facts(where, got, wanted)


def _signature_facts(where: str, function: Any, spec: Spec) -> Iterator[Fact]:
    """Check every parameter of `spec` but the first of a method and the variable ones."""
    try:
        have = inspect.signature(function).parameters
    except (TypeError, ValueError):
        yield f"{where}: no signature", False
        return
    for want in spec.get("params", []):
        if want["n"] in ("self", "cls") or want["k"] not in KINDS:
            continue
        got = have.get(want["n"])
        yield f"{where}({want['n']})", got is not None
        if got is not None:
            yield f"{where}({want['n']}) kind", got.kind is KINDS[want["k"]]
            yield from _default_facts(f"{where}({want['n']})", got.default, want.get("d"))


def _default_facts(where: str, got: Any, want: str | None) -> Iterator[Fact]:
    if want is None:
        yield f"{where} required", got is inspect.Parameter.empty
    elif "factory" not in want and "(" not in want:
        yield f"{where} default {want}", got is not inspect.Parameter.empty and _show(got) == want


def _show(default: Any) -> str:
    """A default as the page writes it: NOT_SET, an enum member, or repr."""
    if type(default).__name__ == "_NotSetMarker":
        return "NOT_SET"
    if hasattr(default, "name") and hasattr(type(default), "__members__"):
        return f"{type(default).__name__}.{default.name}"
    return repr(default)


def main(arguments: list[str] | None = None) -> int:
    """Count the facts that hold and print the total."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--all", action="store_true", help="every public name of the release")
    parser.add_argument("--verbose", action="store_true", help="list every fact that fails")
    options = parser.parse_args(arguments)
    facts = [
        fact
        for name, spec in documented(every=options.all).items()
        for fact in facts_of(name, spec)
    ]
    failed = [fact for fact, holds in facts if not holds]
    for fact in failed if options.verbose else failed[:15]:
        print("differs:", fact)
    print(f"surface: {len(facts) - len(failed)} of {len(facts)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
