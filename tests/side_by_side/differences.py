"""Writes docs/differences.md from differences.jsonl and the corpus.

python tests/side_by_side/differences.py            writes it
python tests/side_by_side/differences.py --check    fails if it is not what the data says
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

if __name__ == "__main__":  # as a script: its folder's folder is where the packages of the tests are
    sys.path.insert(0, str(Path(__file__).parent.parent))

from side_by_side.corpus import CLASSES, NEVER_REJECTS, Case, cases, differences
from written_page import settle

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"

_HEAD = """\
# Differences from upstream

What a program does is compared with `DynamicWorkerExecutor` of `@cloudflare/codemode` 0.5.6, running in workerd, by
`tests/side_by_side`: the same program on both executors, in the same test run. Where the two differ on purpose, it is
here, and a test shows on both executors that it is so. This page is written from `differences.jsonl` there.

Anything else that differs is a fault of ours.
"""


def render() -> str:
    """The page."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield _HEAD
    shown_by: defaultdict[str, list[Case]] = defaultdict(list)
    for case in cases():
        if case.difference is not None:
            shown_by[case.difference].append(case)
    for difference in differences().values():
        yield f"## {difference.id.replace('-', ' ').capitalize()}"
        yield ""
        yield "| | |"
        yield "| --- | --- |"
        yield f"| upstream | {_cell(difference.upstream)} |"
        yield f"| here | {_cell(difference.ours)} |"
        yield f"| because | {_cell(difference.why)} |"
        yield f"| a host has to | {_cell(difference.change) or 'change nothing'} |"
        yield f"| tests | {_tests(difference.id, shown_by[difference.id])} |"
        yield ""
    yield "## How much is compared"
    yield ""
    yield "| class | programs |"
    yield "| --- | --- |"
    for kind in CLASSES:
        yield f"| {kind} | {sum(case.kind == kind for case in cases())} |"
    yield f"| all | {len(cases())} |"
    yield ""


def _tests(identity: str, shown_by: list[Case]) -> str:
    if identity == NEVER_REJECTS:
        return "every program of the corpus that upstream rejects"
    names = [case.id for case in shown_by]
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return ", ".join(f"`{name}`" for name in names[:6]) + more


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> int:
    return settle(PAGE, render(), "python tests/side_by_side/differences.py")


if __name__ == "__main__":
    sys.exit(main())
