"""Takes the exceptions out of the files of this directory that nothing needs any more, and tells what is unexplained.

python tests/side_by_side/platform/prune.py
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # as a script: two folders up is where the packages of the tests are
    sys.path.insert(0, str(Path(__file__).parents[2]))

from side_by_side.corpus import Case
from side_by_side.ours import Ours
from side_by_side.platform import surface
from side_by_side.platform.surface import Difference, Exemption
from side_by_side.upstream import Upstream


def prune(file: str, found: Mapping[str, Difference], subject: str | None) -> None:
    """Keep, of the exceptions about ``subject``, the names that explain something."""
    kept: list[dict[str, Any]] = []
    rest = dict(found)
    for line in (surface.HERE / file).read_text().splitlines():
        row: dict[str, Any] = json.loads(line)
        if row.get("subject") == subject:
            needed: list[str] = []
            for name in row["names"]:
                unexplained, idle = surface.unexplained(found, [Exemption([name], row["is"], row["because"])])
                rest = {other: it for other, it in rest.items() if other in unexplained}
                if idle:
                    print(f"{file}: {subject or ''} {name} ({row['is']}) is not needed")
                else:
                    needed.append(name)
            row["names"] = needed
        if row["names"]:
            kept.append(row)
    (surface.HERE / file).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept))
    for name, it in rest.items():
        print(f"{subject or file}: {name} is not explained: {it.apart}, {it.upstream!r:.100}, {it.ours!r:.100}")


async def main() -> None:
    upstream = Upstream()
    try:
        async with await Ours.start() as ours:

            async def ask(case: Case) -> tuple[dict[str, str], dict[str, str]]:
                return surface.answer(await upstream.run(case)), surface.answer(await ours.run(case))

            prune("surface.jsonl", surface.apart(*await ask(surface.survey())), None)
            prune("clones_apart.jsonl", surface.apart(*await ask(surface.cloning())), None)
            for subject in surface.subjects():
                prune("misuse.jsonl", surface.differing(*await ask(surface.probe(subject))), subject.name)
            for encoding in sorted({it.subject or "" for it in surface.exemptions("encodings.jsonl")}):
                prune("encodings.jsonl", surface.apart(*await ask(surface.decoding([], [encoding]))), encoding)
    finally:
        upstream.close()


if __name__ == "__main__":
    asyncio.run(main())
