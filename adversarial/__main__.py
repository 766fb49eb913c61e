"""``python -m adversarial``: run attacks against an executor, say what got across."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from codemode_executor import IsolateExecutor, Limits
from codemode_executor.jail.layers import LAYERS

from .adapter import Adapter, IsolateAdapter
from .cases import Case, load
from .company import run_all
from .judge import Verdict
from .native import run_native, what_each_layer_stops
from .remote import NoExecutor, RemoteAdapter
from .runner import opened_side_by_side

_SIDE_BY_SIDE = 3
_UNKNOWN = 2


def engine() -> IsolateExecutor:
    """The executor that is attacked: with room for the widest case. Its second worker is the neighbour's."""
    return IsolateExecutor(limits=Limits(timeout_s=120, memory_mb=1024), min_workers=2, max_workers=2)


async def attack(adapters: Sequence[Adapter], cases: Sequence[Case]) -> list[Verdict]:
    """Run the cases that are programs against executors that are not open yet."""
    verdicts: list[Verdict] = []
    async with opened_side_by_side(adapters) as runners:
        await run_all(runners, cases, verdicts.append)
    return verdicts


async def _in_process(cases: Sequence[Case]) -> list[Verdict]:
    programs = [case for case in cases if case.kind != "native"]
    native = [case for case in cases if case.kind == "native"]
    verdicts = await attack([IsolateAdapter(engine) for _ in range(_SIDE_BY_SIDE)], programs) if programs else []
    return verdicts + await run_native(native)


async def _at_url(url: str, token: str, cases: Sequence[Case]) -> list[Verdict]:
    """What needs another worker than the executor's own cannot be done from here."""
    programs = [case for case in cases if case.kind != "native"]
    return await attack([RemoteAdapter(url, token) for _ in range(_SIDE_BY_SIDE)], programs)


async def _show_layers(cases: Sequence[Case]) -> None:
    native = [case for case in cases if case.kind == "native"]
    for layer, stopped in (await what_each_layer_stops(native, [layer.name for layer in LAYERS])).items():
        print(f"{layer:18} {', '.join(stopped) or '-'}")


def _show(verdicts: Sequence[Verdict]) -> bool:
    """True: something got across that is no known finding."""
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


def main() -> int:
    """0: every attack was held, or is a known finding; 1: one got across; 2: there is nothing to attack."""
    parser = argparse.ArgumentParser(prog="python -m adversarial", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="only cases whose id holds one of these")
    parser.add_argument("--url", help="attack the executor there instead, without native cases")
    parser.add_argument("--token-file", type=Path, metavar="PATH", help="with --url: the file with its token")
    parser.add_argument("--layers", action="store_true", help="show what gets through without each layer of the jail")
    options = parser.parse_args()
    parts: list[str] = options.parts
    if (options.url is None) != (options.token_file is None):
        parser.error("--url and --token-file belong together")
    cases = [case for case in load() if not parts or any(part in case.id for part in parts)]
    if not cases:
        parser.error(f"no case has an id with {' or '.join(parts)} in it")
    # Attacks make the engine say a great deal, and nothing that a verdict does not say better.
    logging.getLogger("codemode_executor").addHandler(logging.NullHandler())
    if options.layers:
        asyncio.run(_show_layers(cases))
        return 0
    if options.url is None:
        return _show(asyncio.run(_in_process(cases)))
    try:
        verdicts = asyncio.run(_at_url(options.url, options.token_file.read_text().strip(), cases))
    except (NoExecutor, OSError) as error:
        print(f"python -m adversarial: {error}", file=sys.stderr)
        return _UNKNOWN
    return _show(verdicts)


if __name__ == "__main__":
    sys.exit(main())
