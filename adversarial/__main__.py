"""``python -m adversarial [PART OF AN ID ...]``: run attacks against the engine, say what got across."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter

from codemode_executor import IsolateExecutor, Limits

from .adapter import IsolateAdapter
from .cases import Case, load
from .judge import Verdict
from .native import run_native
from .runner import run


def engine() -> IsolateExecutor:
    """The executor that is attacked: with room for the tightest and the widest case."""
    return IsolateExecutor(limits=Limits(timeout_s=120, memory_mb=1024), min_workers=2, max_workers=3)


async def _run(cases: list[Case]) -> list[Verdict]:
    native = [case for case in cases if case.kind == "native"]
    guest = [case for case in cases if case.kind != "native"]
    verdicts = await run(IsolateAdapter(engine), guest) if guest else []
    return verdicts + await run_native(native)


def main() -> int:
    """The number of attacks that got across and are no known finding decides."""
    parser = argparse.ArgumentParser(prog="python -m adversarial", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="only cases whose id holds one of these")
    parts: list[str] = parser.parse_args().parts
    cases = [case for case in load() if not parts or any(part in case.id for part in parts)]
    if not cases:
        parser.error(f"no case has an id with {' or '.join(parts)} in it")
    verdicts = asyncio.run(_run(cases))
    classes = Counter(verdict.case.kind for verdict in verdicts)
    held = Counter(verdict.case.kind for verdict in verdicts if verdict.held)
    for kind, number in classes.items():
        print(f"{kind:12} {held[kind]:4} of {number} held")
    across = [verdict for verdict in verdicts if not verdict.held]
    for verdict in across:
        known = f" (finding {verdict.case.open})" if verdict.case.open else ""
        print(f"\n{verdict.case.id}{known}: {verdict.case.boundary}")
        for text in verdict.against:
            print(f"    {text}")
    return any(not verdict.case.open for verdict in across)


sys.exit(main())
