"""The encodings behind ``TextDecoder``'s labels: names by label, and the tables that the guest decodes with.

The Encoding Standard's tables, made from Python's codecs and from what is known of their differences: a run's isolate
has none of them, and carrying them into every isolate that decodes UTF-8 would cost more than UTF-8 does.
"""

from __future__ import annotations

import codecs
import sys
from array import array
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from .host_calls import Operation

#: Names and their labels; a name is a label of itself.
_LABELS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf8 x-unicode20utf8",
    "ibm866": "866 cp866 csibm866",
    "iso-8859-2": "csisolatin2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso-8859-3": "csisolatin3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "iso-8859-4": "csisolatin4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "iso-8859-5": "csisolatincyrillic cyrillic iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
    "iso-8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6-e iso-8859-6-i"
    " iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso-8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126 iso8859-7 iso88597 iso_8859-7"
    " iso_8859-7:1987 sun_eu_greek",
    "iso-8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8"
    " iso_8859-8:1988 visual",
    "iso-8859-8-i": "csiso88598i logical",
    "iso-8859-10": "csisolatin6 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso-8859-13": "iso8859-13 iso885913",
    "iso-8859-14": "iso8859-14 iso885914",
    "iso-8859-15": "csisolatin9 iso8859-15 iso885915 iso_8859-15 l9",
    "iso-8859-16": "",
    "koi8-r": "cskoi8r koi koi8 koi8_r",
    "koi8-u": "koi8-ru",
    "macintosh": "csmacintosh mac x-mac-roman",
    "windows-874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620",
    "windows-1250": "cp1250 x-cp1250",
    "windows-1251": "cp1251 x-cp1251",
    "windows-1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591"
    " iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii x-cp1252",
    "windows-1253": "cp1253 x-cp1253",
    "windows-1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5"
    " x-cp1254",
    "windows-1255": "cp1255 x-cp1255",
    "windows-1256": "cp1256 x-cp1256",
    "windows-1257": "cp1257 x-cp1257",
    "windows-1258": "cp1258 x-cp1258",
    "x-mac-cyrillic": "x-mac-ukrainian",
    "gbk": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 iso-ir-58 x-gbk",
    "gb18030": "",
    "big5": "big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc-jp": "cseucpkdfmtjapanese x-euc-jp",
    "iso-2022-jp": "csiso2022jp",
    "shift_jis": "csshiftjis ms932 ms_kanji shift-jis sjis windows-31j x-sjis",
    "euc-kr": "cseuckr csksc56011987 iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949",
    "utf-16be": "unicodefffe",
    "utf-16le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16",
    "x-user-defined": "",
}
_NAMES = {label: name for name, labels in _LABELS.items() for label in (name, *labels.split())}

#: Python's names of codecs, where they do not follow from an encoding's own.
_CODECS = {
    "ibm866": "cp866",
    "koi8-r": "koi8_r",
    "koi8-u": "koi8_u",
    "macintosh": "mac_roman",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
    "iso-8859-8-i": "iso8859_8",
    "big5": "big5hkscs",
    "euc-jp": "euc_jp",
    "euc-kr": "cp949",
    "gb18030": "gb18030",
    "gbk": "gb18030",
    "iso-2022-jp": "cp932",
    "shift_jis": "cp932",
}
#: Where Python's codecs follow other tables.
_SINGLE_BYTE_CORRECTIONS = {
    "koi8-u": {0xAE: 0x45E, 0xBE: 0x40E},
    "windows-1255": {0xCA: 0x5BA},
}


def _codec(name: str) -> str:
    codec = _CODECS.get(name) or name.replace("iso-8859-", "iso8859_").replace("windows-", "cp")
    return codecs.lookup(codec).name


def _point(data: bytes, codec: str) -> int:
    """The code point that ``data`` stands for, 0 for none."""
    try:
        text = data.decode(codec)
    except UnicodeDecodeError:
        return 0
    return ord(text) if len(text) == 1 and text != "\ufffd" else 0


def _single_byte(name: str) -> Iterator[int]:
    """Of the bytes from 0x80 on."""
    if name == "x-user-defined":
        yield from range(0xF780, 0xF800)
        return
    codec = _codec(name)
    corrections = _SINGLE_BYTE_CORRECTIONS.get(name, {})
    for byte in range(0x80, 0x100):
        point = corrections.get(byte) or _point(bytes([byte]), codec)
        # What Microsoft's tables leave out is a control character.
        yield byte if not point and byte < 0xA0 and name.startswith("windows-") else point


#: Where Big5 has what Python's codec has not, or has otherwise: code points from a pointer on.
_BIG5_CORRECTIONS = """
    1000:3875,21d53,2369e,26021,3eec,258de,3af5,7afc,9f97,24161,2890d,231ea
    1012:20a8a,2325e,430a,8484,9f96,942f,4930,8613,5896,974a,9218,79d0
    1024:7a32,6660,6a29,889d,744c,7bc5,6782,7a2c,524f,9046,34e6,73c4
    1036:25db9,74c6,9fc7,57b3,492f,544c,4131,2368e,5818,7a72,27b65,8b8f
    1048:46ae,26e88,4181,25d99,7bae,224bc,9fc8,224c1,224c9,224cc,9fc9,8504
    1060:235bb,40b4,9fca,44e1,2adff,62c1,706e,9fcb 2082:7bb8 2088:7c06 2103:7cce 2114:7dd2 2123:7e1d 2148:8005
    2151:8028 2221:83c1 2239:84a8 2244:840f 2303:89a6,89a9 2354:8d77 2400:90fd 2413:92b9 2477:975c 2498:97ff
    2605:9f16 2673:8503 2746:5159,515b,515d,515e 2771:936e 2780:7479 2990:6d67 3087:799b 3259:9097 3301:975d
    3436:701e 3451:5b28 4136:7201 4138:77d7 4141:7e87 4182:99d6 4206:91d4 4220:60de 4230:6fb6 4241:8f36 4258:4fbb
    4273:71df 4279:9104 4282:9df0 4294:83cf 4329:5c10,79e3 4349:5a67 4419:8f0b 4422:7b51 4494:62d0 4624:6062
    4694:75f9 4708:6c4a 4742:9b2e 4748:9f17 4815:50ed 4828:5f0c 4902:880f 4922:62ce 4982:7468 4992:7162 4997:7250
    5029:2027 5038:fe51 5120:af 5153:ff5e 5168:2295,2299 5182:2215,fe68 5185:ffe5 5187:ffe0,ffe1
    5432:2400,2401,2402,2403,2404,2405,2406,2407,2408,2409,240a,240b
    5444:240c,240d,240e,240f,2410,2411,2412,2413,2414,2415,2416,2417
    5456:2418,2419,241a,241b,241c,241d,241e,241f,2421,20ac 10942:5ef4 10946:65e0 10948:7676 10950:96b6
    10957:3003,4edd 19028:5029 19035:507d 19088:5305 19096:5344 19112:537f 19162:5605 19240:5a77 19299:5e75
    19305:5ed0 19326:5f58 19355:60a4 19398:6490 19439:6674 19454:675e 19553:6c9c,6e1d 19557:6e2f 19611:716e
    19643:732a 19672:745c 19697:74e9 19748:7809
"""


def _big5(_: str) -> Iterator[int]:
    corrections: dict[int, int] = {}
    for entry in _BIG5_CORRECTIONS.split():
        first, points = entry.split(":")
        corrections |= {int(first) + offset: int(point, 16) for offset, point in enumerate(points.split(","))}
    for pointer in range(126 * 157):
        lead, trail = divmod(pointer, 157)
        data = bytes([0x81 + lead, trail + (0x40 if trail < 0x3F else 0x62)])
        yield corrections.get(pointer) or _point(data, "big5hkscs")


def _euc_kr(_: str) -> Iterator[int]:
    for pointer in range(126 * 190):
        lead, trail = divmod(pointer, 190)
        yield _point(bytes([0x81 + lead, 0x41 + trail]), "cp949")


def _jis0208(_: str) -> Iterator[int]:
    """Microsoft's Shift_JIS holds JIS X 0208 with the extensions that the Encoding Standard has."""
    for pointer in range(60 * 188):
        lead, trail = divmod(pointer, 188)
        data = bytes([lead + (0x81 if lead < 0x1F else 0xC1), trail + (0x40 if trail < 0x3F else 0x41)])
        yield _point(data, "cp932")


_TILDE = (0xA2 - 0xA1) * 94 + 0xB7 - 0xA1


def _euc_jp(name: str) -> Iterator[int]:
    """JIS X 0208, and behind it JIS X 0212."""
    table = [*_jis0208(name)]
    yield from table[: 94 * 94]
    for pointer in range(94 * 94):
        row, cell = divmod(pointer, 94)
        yield 0xFF5E if pointer == _TILDE else _point(bytes([0x8F, 0xA1 + row, 0xA1 + cell]), "euc_jp")


def _gb18030(_: str) -> Iterator[int]:
    """Two bytes, and behind them the four bytes that stand for the rest of the basic plane."""
    corrections = {b"\xa3\xa0": 0x3000, b"\xa8\xbc": 0x1E3F, b"\x81\x35\xf4\x37": 0xE7C7}
    for pointer in range(126 * 190):
        lead, trail = divmod(pointer, 190)
        data = bytes([0x81 + lead, trail + (0x40 if trail < 0x3F else 0x41)])
        yield corrections.get(data) or _point(data, "gb18030")
    for pointer in range(39420):
        rest, fourth = divmod(pointer, 10)
        rest, third = divmod(rest, 126)
        first, second = divmod(rest, 10)
        data = bytes([0x81 + first, 0x30 + second, 0x81 + third, 0x30 + fourth])
        yield corrections.get(data) or _point(data, "gb18030")


#: The kinds of decoders that the guest has for more than one byte, and what makes their tables.
_MULTI_BYTE: dict[str, tuple[str, Callable[[str], Iterator[int]]]] = {
    "big5": ("big5", _big5),
    "euc-jp": ("eucJp", _euc_jp),
    "euc-kr": ("eucKr", _euc_kr),
    "gb18030": ("gb18030", _gb18030),
    "gbk": ("gb18030", _gb18030),
    "iso-2022-jp": ("iso2022Jp", _jis0208),
    "shift_jis": ("shiftJis", _jis0208),
}


@cache
def _table(name: str) -> tuple[str, bytes]:
    """The kind of an encoding's decoder, and its table: code points as 32-bit little-endian integers."""
    kind, make = _MULTI_BYTE.get(name, ("single", _single_byte))
    points = array("I", make(name))
    if sys.byteorder == "big":
        points.byteswap()
    return kind, points.tobytes()


def encoding(params: dict[str, Any], _: list[bytes]) -> tuple[object, bytes]:
    """What ``{label}`` means: its encoding's name, the kind of decoder for it, and the table; or nothing."""
    label = params.get("label")
    name = _NAMES.get(label.strip("\t\n\f\r ").lower()) if isinstance(label, str) and label.isascii() else None
    if name is None:
        return None, b""
    if name.startswith("utf-"):
        return {"name": name, "kind": "unicode"}, b""
    kind, table = _table(name)
    return {"name": name, "kind": kind}, table


OPERATIONS: dict[str, Operation] = {"encoding": encoding}


def preload() -> None:
    """Import every codec: a worker's jail opens no file."""
    for name in _LABELS:
        if not name.startswith("utf-") and name != "x-user-defined":
            _codec(name)
