"""Reading what the harness posts: every item as the harness writes it, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode_executor.worker import channel
from codemode_executor.worker.channel import (
    CallItem,
    CancelTimerItem,
    ChannelError,
    FailureItem,
    Item,
    LogItem,
    ResultItem,
    TakeItem,
    TimerItem,
)

Parse = Callable[[str], list[Item]]


def by_units(message: str) -> list[Item]:
    return channel.parse_units(message.encode("utf-16-le", "surrogatepass"))


def by_utf8(message: str) -> list[Item]:
    # As V8 hands a string out: a lone surrogate is three bytes.
    return channel.parse_utf8(message.encode("utf-8", "surrogatepass"))


BOTH = pytest.mark.parametrize("parse", [by_units, by_utf8])


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def written(items: list[Item]) -> str:
    """The message that the harness writes for ``items``."""
    head: list[int] = []
    body = ""

    def measured(*texts: str) -> list[int]:
        nonlocal body
        body += "".join(texts)
        return [units(text) for text in texts]

    for item in items:
        match item:
            case CallItem(call, provider, tool, args):
                head += [1, call, *measured(provider, tool, args.decode())]
            case LogItem(level, text):
                head += [2, level, *measured(text)]
            case TimerItem(timer, delay_ms):
                head += [3, timer, delay_ms]
            case CancelTimerItem(timer):
                head += [4, timer]
            case ResultItem(value):
                head += [5, value is not None, *measured((value or b"").decode())]
            case FailureItem(kind, name, message, stack):
                head += [6, kind, *measured(name, message, stack)]
            case TakeItem():
                head += [7]
    return f"{json.dumps([int(number) for number in head])}\n{body}"


TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
NUMBERS = st.integers(0, 2**53)
ITEMS = st.lists(
    st.one_of(
        st.builds(CallItem, call=NUMBERS, provider=TEXT, tool=TEXT, args=TEXT.map(str.encode)),
        st.builds(LogItem, level=st.integers(0, 8), text=TEXT),
        st.builds(TimerItem, timer=NUMBERS, delay_ms=NUMBERS),
        st.builds(CancelTimerItem, timer=NUMBERS),
        st.builds(ResultItem, value=st.none() | TEXT.map(str.encode)),
        st.builds(FailureItem, kind=NUMBERS, name=TEXT, message=TEXT, stack=TEXT),
        st.builds(TakeItem),
    ),
    max_size=8,
)


@BOTH
@pytest.mark.parametrize(
    ("message", "item"),
    [
        ("[1,7,1,3,5]\npget[1,2]", CallItem(7, "p", "get", b"[1,2]")),
        ("[1,0,0,0,0]\n", CallItem(0, "", "", b"")),
        ("[2,1,5]\nhello", LogItem(1, "hello")),
        ("[2,0,0]\n", LogItem(0, "")),
        ("[2,0,3]\na\nb", LogItem(0, "a\nb")),
        ("[3,1,2147483647]\n", TimerItem(1, 2147483647)),
        ("[4,12]\n", CancelTimerItem(12)),
        ("[5,1,2]\n{}", ResultItem(b"{}")),
        ("[5,1,0]\n", ResultItem(b"")),
        ("[5,0,0]\n", ResultItem(None)),
        ("[6,1,5,1,4]\nErrormst\na", FailureItem(1, "Error", "m", "st\na")),
        ("[7]\n", TakeItem()),
    ],
)
def test_every_item(parse: Parse, message: str, item: Item) -> None:
    assert parse(message) == [item]


@BOTH
def test_no_item_is_no_item(parse: Parse) -> None:
    assert parse("[]\n") == []


@BOTH
def test_texts_follow_each_other_in_the_order_of_their_items(parse: Parse) -> None:
    assert parse("[2,0,1,3,1,5,1,2,1,1,2,7,2,2,1]\nap" + "t[]z") == [
        LogItem(0, "a"),
        TimerItem(1, 5),
        CallItem(2, "p", "t", b"[]"),
        TakeItem(),
        LogItem(2, "z"),
    ]


@BOTH
def test_texts_are_measured_in_utf_16_units(parse: Parse) -> None:
    assert parse("[2,0,3,2,1,2,5,1,4]\né😀ab" + '"😀"') == [
        LogItem(0, "é😀"),
        LogItem(1, "ab"),
        ResultItem('"😀"'.encode()),
    ]


@BOTH
@given(items=ITEMS)
def test_round_trip(parse: Parse, items: list[Item]) -> None:
    assert parse(written(items)) == items


# The harness makes texts well-formed, but a text cut at a bound may end within a pair.
@BOTH
@pytest.mark.parametrize("lone", ["\ud83d", "\ude00"])
def test_a_lone_surrogate_is_one_unit_and_moves_nothing(parse: Parse, lone: str) -> None:
    assert parse(f"[2,0,2,2,8,3]\na{lone}😀z") == [LogItem(0, "a\ufffd"), LogItem(8, "😀z")]
    assert parse(f"[2,0,2,2,8,3]\na{lone}xyz") == [LogItem(0, "a\ufffd"), LogItem(8, "xyz")]


@BOTH
def test_a_length_that_ends_within_a_pair_leaves_text_that_can_be_sent(parse: Parse) -> None:
    first, second = parse("[2,0,1,2,0,2]\n😀a")
    assert isinstance(first, LogItem)
    assert isinstance(second, LogItem)
    assert (first.text + second.text).encode() == "\ufffd\ufffda".encode()


@BOTH
@pytest.mark.parametrize(
    "message",
    [
        "",
        "\n",
        "[1,2",
        "[2,0,1]",
        "no head\n",
        "{}\n",
        "null\n",
        "[null]\n",
        '["2"]\n',
        "[2,0,1.5]\nab",
        "[2,0,true]\na",
        "[[2]]\n",
        "[0]\n",
        "[8]\n",
        "[-1]\n",
        "[99,1,2]\n",
        # an item lacks numbers
        "[1]\n",
        "[1,1,1,1]\nab",
        "[2]\n",
        "[2,0]\n",
        "[3]\n",
        "[3,1]\n",
        "[4]\n",
        "[5]\n",
        "[5,1]\n",
        "[6]\n",
        "[6,1,0,0]\n",
        "[7,2]\n",
        # an item measures what is not there
        "[2,0,1]\n",
        "[2,0,2]\na",
        "[2,0,1,2,0,1]\na",
        "[1,0,1,1,2]\nabc",
        "[6,1,0,0,1]\n",
        "[5,1,1]\n",
        "[2,0,2]\né",
        "[2,0,3]\n😀",
        "[2,0,-1]\na",
        "[2,0,1,2,0,-1]\né",
        f"[2,0,{2**62}]\na",
        f"[2,0,{10**30}]\na",
        f"[2,0,{10**30}]\né",
    ],
)
def test_refuses_what_the_harness_never_writes(parse: Parse, message: str) -> None:
    with pytest.raises(ChannelError):
        parse(message)


@pytest.mark.parametrize(
    "message", [b"\xff\xfe\n", b"[2,0,1]\n\xff\xff", b"\x80", b"[" * 10_000 + b"\n", b"[7]\n"[:-1]]
)
def test_bytes_that_are_no_text_move_nothing_or_are_refused(message: bytes) -> None:
    for parse in (channel.parse_units, channel.parse_utf8):
        try:
            items = parse(message)
        except ChannelError:
            continue
        assert items == [LogItem(0, "\ufffd")]


@given(items=ITEMS, at=st.integers(0), data=st.data())
def test_a_truncated_message_is_refused_or_shorter(
    items: list[Item], at: int, data: st.DataObject
) -> None:
    message = written(items)
    cut = message[: at % (len(message) + 1)]
    for parse in (by_units, by_utf8):
        try:
            found = parse(cut)
        except ChannelError:
            continue
        # The head was whole, and no text is missing.
        assert found == items


@given(message=st.binary(max_size=80))
def test_any_bytes_are_items_or_refused(message: bytes) -> None:
    for parse in (channel.parse_units, channel.parse_utf8):
        try:
            parse(message)
        except ChannelError:
            pass


@given(
    numbers=st.lists(st.integers(-2, 8) | st.integers(), max_size=12),
    body=st.text(st.characters(codec=None), max_size=12),
)
def test_any_numbers_are_items_or_refused(numbers: list[int], body: str) -> None:
    message = f"{json.dumps(numbers)}\n{body}"
    for parse in (by_units, by_utf8):
        try:
            items = parse(message)
        except ChannelError:
            continue
        for item in items:
            # Text that is not well-formed would not survive the wire.
            if isinstance(item, LogItem):
                item.text.encode()
            if isinstance(item, FailureItem):
                (item.name + item.message + item.stack).encode()
            if isinstance(item, CallItem):
                (item.provider + item.tool).encode()
                item.args.decode()


def test_long_messages_are_cut_in_linear_time() -> None:
    # Cutting from the front of a string each time would meet the suite's time limit.
    for text in ("x" * 20, "é" * 20, "😀" * 10):
        message = f"[{','.join(['2,0,20'] * 100_000)}]\n{text * 100_000}"
        assert len(by_units(message)) == len(by_utf8(message)) == 100_000
