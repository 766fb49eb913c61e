"""Labels and tables of ``TextDecoder``'s older encodings."""

from __future__ import annotations

import struct
from typing import Any, cast

import pytest

from codemode_executor.worker import text_encodings
from codemode_executor.worker.text_encodings import encoding


def looked_up(label: object) -> tuple[dict[str, Any] | None, list[int]]:
    """What a label means, and the code points of its table."""
    value, table = encoding({"label": label}, [])
    return cast("dict[str, Any] | None", value), list(struct.unpack(f"<{len(table) // 4}I", table))


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("latin1", "windows-1252"),
        ("US-ASCII", "windows-1252"),
        (" \t\n\f\rSJIS\r\n", "shift_jis"),
        ("gb2312", "gbk"),
        ("ks_c_5601-1987", "euc-kr"),
        ("logical", "iso-8859-8-i"),
        ("unicode-1-1-utf-8", "utf-8"),
        ("ucs-2", "utf-16le"),
    ],
)
def test_labels(label: str, name: str) -> None:
    value, _ = looked_up(label)
    assert value is not None
    assert value["name"] == name


@pytest.mark.parametrize(
    "label",
    [
        "",
        "replacement",
        "utf-7",
        "iso-2022-kr",
        "latin\u0131",
        "\u212aoi8-r",  # its lower case begins with a k
        "koi8-r\u00a0",
        "koi8-r\v",
        "\ud800",
        None,
        5,
        ["latin1"],
        {},
    ],
)
def test_what_is_no_label(label: object) -> None:
    assert looked_up(label) == (None, [])


def test_a_label_is_asked_for() -> None:
    assert encoding({}, []) == (None, b"")


@pytest.mark.parametrize(
    ("label", "kind", "size"),
    [
        ("koi8-r", "single", 128),
        ("big5", "big5", 126 * 157),
        ("euc-kr", "eucKr", 126 * 190),
        ("shift_jis", "shiftJis", 60 * 188),
        ("iso-2022-jp", "iso2022Jp", 60 * 188),
        ("euc-jp", "eucJp", 2 * 94 * 94),
        ("gbk", "gb18030", 126 * 190 + 39420),
    ],
)
def test_tables_have_the_size_that_the_guest_counts_on(label: str, kind: str, size: int) -> None:
    value, points = looked_up(label)
    assert value is not None
    assert value["kind"] == kind
    assert len(points) == size
    assert all(point < 0x110000 and not 0xD800 <= point < 0xE000 and point != 0xFFFD for point in points)


def test_what_microsofts_tables_leave_out_is_a_control_character() -> None:
    _, points = looked_up("windows-1252")
    assert points[0x00] == 0x20AC
    assert points[0x01] == 0x81


def test_what_other_tables_leave_out_is_nothing() -> None:
    _, points = looked_up("iso-8859-6")
    assert points[0xA1 - 0x80] == 0
    assert points[0xAC - 0x80] == 0x60C


def test_corrections_of_pythons_codecs() -> None:
    assert looked_up("koi8-u")[1][0xAE - 0x80] == 0x45E
    assert looked_up("windows-1255")[1][0xCA - 0x80] == 0x5BA
    assert looked_up("big5")[1][1000] == 0x3875
    assert looked_up("gb18030")[1][(0xA8 - 0x81) * 190 + 0xBC - 0x41] == 0x1E3F


def test_preload_meets_every_codec() -> None:
    text_encodings.preload()
