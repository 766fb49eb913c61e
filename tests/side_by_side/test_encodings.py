"""TextDecoder beside upstream's, in every encoding, and beside the tables of the Encoding Standard.

The labels and the tables are those that the packages ``whatwg-encoding`` and ``text-encoding`` carry.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator

import pytest

from side_by_side.corpus import HERE, Case
from side_by_side.ours import Ours
from side_by_side.platform import surface
from side_by_side.upstream import Upstream

pytestmark = pytest.mark.asyncio(loop_scope="module")

_PACKAGES = HERE / "node_modules"
# Not in that package's list, since its decoder does not have them.
_FURTHER = """csiso2022jp csiso2022kr csiso88598i hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-jp iso-2022-kr
    iso-8859-8-i logical replacement x-mac-cyrillic x-mac-ukrainian""".split()

ENCODINGS = """big5 euc-jp euc-kr gb18030 gbk ibm866 iso-2022-jp iso-8859-10 iso-8859-13 iso-8859-14 iso-8859-15
    iso-8859-16 iso-8859-2 iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 iso-8859-8-i koi8-r koi8-u
    macintosh shift_jis utf-16be utf-16le utf-8 windows-1250 windows-1251 windows-1252 windows-1253 windows-1254
    windows-1255 windows-1256 windows-1257 windows-1258 windows-874 x-mac-cyrillic x-user-defined""".split()

_SHOWN = 20


@pytest.fixture(scope="module")
def labels(installed: None) -> list[str]:
    known = json.loads((_PACKAGES / "whatwg-encoding/lib/labels-to-names.json").read_text())
    return sorted({*known, *_FURTHER})


@pytest.fixture(scope="module")
def tables(installed: None) -> dict[str, list[int | None]]:
    """The indexes of the Encoding Standard: code points by pointer."""
    text = (_PACKAGES / "text-encoding/lib/encoding-indexes.js").read_text()
    found, _ = json.JSONDecoder().raw_decode(text, text.index('{\n  "big5"'))
    return found


async def test_labels(labels: list[str], upstream: Upstream, ours: Ours) -> None:
    await _compare(surface.decoding(labels, []), "labels", upstream, ours)


@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_bytes(encoding: str, upstream: Upstream, ours: Ours) -> None:
    await _compare(surface.decoding([], [encoding]), encoding, upstream, ours)


async def _compare(case: Case, subject: str, upstream: Upstream, ours: Ours) -> None:
    theirs, mine = await asyncio.gather(upstream.run(case), ours.run(case))
    found = surface.apart(surface.answer(theirs), surface.answer(mine))
    exempt = [it for it in surface.exemptions("encodings.jsonl") if it.subject == subject]
    rest, idle = surface.unexplained(found, exempt)
    lines = [f"{name}\n    upstream {it.upstream!r:.300}\n    ours     {it.ours!r:.300}" for name, it in rest.items()]
    assert not lines, "\n".join([f"{len(lines)} differ:", *lines[:_SHOWN]])
    assert not idle, f"exceptions that are not needed any more: {idle}"


# --- the tables -------------------------------------------------------------------------------------------------------


def _big5(pointer: int) -> tuple[int, int]:
    lead, trail = divmod(pointer, 157)
    return lead + 0x81, trail + (0x40 if trail < 0x3F else 0x62)


def _euc_kr(pointer: int) -> tuple[int, int]:
    lead, trail = divmod(pointer, 190)
    return lead + 0x81, trail + 0x41


def _gbk(pointer: int) -> tuple[int, int]:
    lead, trail = divmod(pointer, 190)
    return lead + 0x81, trail + (0x40 if trail < 0x3F else 0x41)


def _euc_jp(pointer: int) -> tuple[int, int] | None:
    lead, trail = divmod(pointer, 94)
    return (lead + 0xA1, trail + 0xA1) if lead < 94 else None


def _shift_jis(pointer: int) -> tuple[int, int] | None:
    lead, trail = divmod(pointer, 188)
    lead += 0x81 if lead < 0x1F else 0xC1
    return (lead, trail + (0x40 if trail < 0x3F else 0x41)) if lead <= 0xFC else None


PAIRS: dict[str, tuple[str, Callable[[int], tuple[int, int] | None]]] = {
    "big5": ("big5", _big5),
    "euc-jp": ("jis0208", _euc_jp),
    "euc-kr": ("euc-kr", _euc_kr),
    "gb18030": ("gb18030", _gbk),
    "gbk": ("gb18030", _gbk),
    "shift_jis": ("jis0208", _shift_jis),
}


@pytest.mark.parametrize("encoding", sorted(PAIRS))
async def test_pairs_are_the_standards(encoding: str, tables: dict[str, list[int | None]], ours: Ours) -> None:
    answers = surface.answer(await ours.run(surface.decoding([], [encoding])))
    index, place = PAIRS[encoding]
    rows = {lead: list(_row(answers[f"{encoding} after {lead}"])) for lead in range(0x80, 0x100)}
    wrong: list[str] = []
    seen = 0
    for pointer, code_point in enumerate(tables[index]):
        at = None if code_point is None else place(pointer)
        if at is None or code_point is None:
            continue
        seen += 1
        if rows[at[0]][at[1]] != chr(code_point):
            wrong.append(f"{at[0]:02x} {at[1]:02x}: {rows[at[0]][at[1]]!r} instead of U+{code_point:04X}")
    assert seen > 6000
    assert not wrong, wrong[:_SHOWN]


def _row(text: str) -> Iterator[str]:
    """The text of each pair; a line feed ends each, and one pair ends with one."""
    parts = text.split("\n")
    yield from parts[:11]
    yield from parts[12:]


_SINGLE = [encoding for encoding in ENCODINGS if encoding not in {*PAIRS, "iso-2022-jp", "iso-8859-8-i"}]


@pytest.mark.parametrize("encoding", [name for name in _SINGLE if not name.startswith(("utf-", "x-user"))])
async def test_bytes_are_the_standards(encoding: str, tables: dict[str, list[int | None]], ours: Ours) -> None:
    answers = surface.answer(await ours.run(surface.decoding([], [encoding])))
    upper = "".join("\ufffd" if point is None else chr(point) for point in tables[encoding])
    assert answers[f"{encoding} singly"] == "".join(map(chr, range(0x80))) + upper
