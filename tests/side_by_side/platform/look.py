"""Shows where the platform here is not upstream's, before it is a test that fails.

python tests/side_by_side/platform/look.py survey          every name, in both
python tests/side_by_side/platform/look.py URL Headers     misuse of these
python tests/side_by_side/platform/look.py core            misuse of everything in an area
python tests/side_by_side/platform/look.py clones          structuredClone of everything
python tests/side_by_side/platform/look.py --upstream URL  only what upstream answers
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import cast

if __name__ == "__main__":  # as a script: two folders up is where the packages of the tests are
    sys.path.insert(0, str(Path(__file__).parents[2]))

from side_by_side.corpus import Case
from side_by_side.ours import Ours
from side_by_side.platform import surface
from side_by_side.platform.surface import Difference, Exemption
from side_by_side.upstream import Upstream

_NAMES = 4


def chosen(words: list[str]) -> list[tuple[str, Case, list[Exemption]]]:
    """Title, program and exceptions of each comparison that is asked for."""
    found: list[tuple[str, Case, list[Exemption]]] = []
    if "survey" in words:
        found.append(("survey", surface.survey(), surface.exemptions("surface.jsonl")))
    if "clones" in words:
        found.append(("clones", surface.cloning(), surface.exemptions("clones_apart.jsonl")))
    for subject in surface.subjects():
        if subject.name in words or subject.area in words:
            exempt = [it for it in surface.exemptions("misuse.jsonl") if it.subject == subject.name]
            found.append((f"{subject.name} ({subject.area})", surface.probe(subject), exempt))
    return found


def grouped(found: dict[str, Difference]) -> list[tuple[Difference, list[str]]]:
    """The names that differ in the same way, the worst first."""
    groups: dict[Difference, list[str]] = {}
    for name, it in found.items():
        groups.setdefault(reduced(it), []).append(name)
    return sorted(groups.items(), key=lambda group: severity(group[0]))


def reduced(it: Difference) -> Difference:
    """Of two objects, the members that differ."""
    try:
        upstream, ours = json.loads(it.upstream), json.loads(it.ours)
    except ValueError:
        return it
    if not isinstance(upstream, dict) or not isinstance(ours, dict):
        return it
    theirs = cast("dict[str, object]", upstream)
    mine = cast("dict[str, object]", ours)
    keys = [key for key in {**theirs, **mine} if theirs.get(key) != mine.get(key)]
    one, other = ({key: side[key] for key in keys if key in side} for side in (theirs, mine))
    return Difference(it.apart, f"… {json.dumps(one)}", f"… {json.dumps(other)}")


def severity(it: Difference) -> int:
    """From a program that finds or gets something else to one that reads another text."""
    return ("absent", "extra", "differs", "words", "length").index(it.apart)


async def main(words: list[str], *, upstream_only: bool) -> None:
    upstream = Upstream()
    try:
        async with await Ours.start() as ours:
            for title, case, exempt in chosen(words):
                theirs = surface.answer(await upstream.run(case))
                if upstream_only:
                    print(f"## {title}", *(f"{name}: {text}" for name, text in theirs.items()), sep="\n")
                    continue
                envelope = await ours.run(case)
                if "result" not in envelope or envelope.get("error"):
                    print(f"## {title}: the program fails here: {str(envelope)[:500]}")
                    continue
                compare = surface.differing if "probe" in case.id else surface.apart
                rest, idle = surface.unexplained(compare(theirs, surface.answer(envelope)), exempt)
                print(f"## {title}: {len(rest)} of {len(theirs)} differ")
                for it, names in grouped(rest):
                    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
                    print(f"- {it.apart}: {', '.join(names[:_NAMES])}{more}")
                    print(f"    upstream {it.upstream}\n    ours     {it.ours}")
                for pattern in idle:
                    print(f"- exception that is not needed: {pattern}")
    finally:
        upstream.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="+")
    parser.add_argument("--upstream", action="store_true")
    options = parser.parse_args()
    asyncio.run(main(options.words, upstream_only=options.upstream))
