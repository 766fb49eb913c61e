"""Writes the lists of docs/platform.md, between `<!-- platform: NAME -->` and `<!-- end -->`.

python tests/side_by_side/platform/page.py            writes them
python tests/side_by_side/platform/page.py --check    fails if one is not what the data says

What upstream has, and what the tests compare with it, is in this directory; what loads when is declared by the chunks
of executor/guest/src/chunks.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

if __name__ == "__main__":  # as a script: two folders up is where the packages of the tests are
    sys.path.insert(0, str(Path(__file__).parents[2]))

from side_by_side.platform import surface
from side_by_side.platform.surface import Exemption
from written_page import settle

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "platform.md"
CHUNKS = ROOT / "executor" / "guest" / "src" / "chunks"


_BLOCK = re.compile(r"(<!-- platform: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_SHOWN = {
    "absent": "not here",
    "differs": "differs",
    "extra": "only here",
    "words": "says it otherwise",
    "length": "another `length`",
}
_LISTED = 8


def _code(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _listed(names: Sequence[str]) -> str:
    shown = [name.replace(".prototype.", "#") for name in names]
    more = f" and {len(shown) - _LISTED} more" if len(shown) > _LISTED + 1 else ""
    return _code(shown if not more else shown[:_LISTED]) + more


def _owner(name: str) -> str:
    """The global or the module that ``name`` is of; empty for what is of several."""
    head = name.split(".", maxsplit=1)[0]
    return "" if "*" in head else head


def _by_owner() -> dict[str, list[tuple[str, Exemption]]]:
    found: defaultdict[str, list[tuple[str, Exemption]]] = defaultdict(list)
    for exemption in surface.exemptions("surface.jsonl"):
        for name in exemption.names:
            found[_owner(name)].append((name, exemption))
    return found


def _rows(entries: Sequence[tuple[str, Exemption]]) -> Iterator[str]:
    """One row for each reason."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for name, exemption in entries:
        grouped.setdefault((exemption.apart, exemption.because), []).append(name)
    yield "| | | because |"
    yield "| --- | --- | --- |"
    for (apart, because), names in grouped.items():
        yield f"| {_listed(names)} | {_SHOWN[apart]} | {because.replace('|', chr(92) + '|')} |"


def _absent(entries: Sequence[tuple[str, Exemption]]) -> set[str]:
    return {name for name, exemption in entries if exemption.apart == "absent"}


def globals_() -> Iterator[str]:
    owners = _by_owner()
    for area, names in surface.areas().items():
        entries = [entry for name in names for entry in owners[name]]
        absent = _absent(entries)
        here = [name for name in names if name not in absent]
        yield f"### {area}"
        yield ""
        if here:
            yield f"Here: {_code(here)}."
        else:
            yield "None of them is here."
        yield ""
        if entries:
            yield from _rows(entries)
            yield ""
    everywhere = [*owners[""], *(entry for name in owners if name and not _placed(name) for entry in owners[name])]
    if everywhere:
        yield "### In general"
        yield ""
        yield from _rows(everywhere)
        yield ""


def _placed(name: str) -> bool:
    return name in surface.pinned_names().globals or ":" in name or name.startswith("'")


def modules() -> Iterator[str]:
    owners = _by_owner()
    pinned = surface.pinned_names()
    offered, missing = list[str](), list[str]()
    for name in pinned.modules:
        (missing if name in _absent(owners[name]) else offered).append(name)
    yield "| module | exports | all but |"
    yield "| --- | --- | --- |"
    for name in offered:
        absent = sorted(other.removeprefix(f"{name}.") for other in _absent(owners[name]))
        # Of members of an export, the rows below tell.
        absent = [other for other in absent if "." not in other]
        exports = len(pinned.modules[name])
        yield f"| `{name}` | {exports - len(absent)} of {exports} | {_listed(absent)} |"
    yield ""
    entries = [entry for name in offered for entry in owners[name]]
    if entries:
        yield from _rows(entries)
        yield ""
    if missing:
        yield "Upstream has these as well; here an import of them fails with a text that says so:"
        yield ""
        yield from _rows([entry for name in missing for entry in owners[name] if entry[0] == name])
        yield ""
    yield f"Neither has these, with the same text: {_code([name for name in pinned.closed if ':' in name])}."
    yield ""


def chunks() -> Iterator[str]:
    yield "| piece | with these names | or these modules | needs |"
    yield "| --- | --- | --- | --- |"
    for path in sorted(CHUNKS.glob("*/chunk.json")):
        declared: dict[str, list[str]] = json.loads(path.read_text())
        names = [*declared.get("globals", []), *declared.get("names", [])]
        specifiers = [name if ":" in name else f"node:{name}" for name in declared.get("modules", [])]
        yield (
            f"| {path.parent.name} | {_code(names)} | {_code(specifiers)} | {', '.join(declared.get('requires', []))} |"
        )
    yield ""


BLOCKS: dict[str, Callable[[], Iterator[str]]] = {"globals": globals_, "modules": modules, "chunks": chunks}


def render(text: str) -> str:
    """``text`` with every list as the data has it."""
    return _BLOCK.sub(lambda match: match[1] + "\n" + "\n".join(BLOCKS[match[2]]()).strip() + "\n\n" + match[3], text)


def main() -> int:
    return settle(PAGE, render(PAGE.read_text()), "python tests/side_by_side/platform/page.py")


if __name__ == "__main__":
    sys.exit(main())
