"""Reading what the harness posts: every item as the harness writes it, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode_executor.worker import channel, logs
from codemode_executor.worker.channel import (
    CallItem,
    CancelTimerItem,
    ChannelError,
    FailureItem,
    Item,
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
            case TimerItem(timer, delay_ms, called_ms):
                head += [3, timer, delay_ms, called_ms]
            case CancelTimerItem(timer):
                head += [4, timer]
            case ResultItem(form, value):
                head += [5, form, *measured(value.decode())]
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
        st.builds(TimerItem, timer=NUMBERS, delay_ms=NUMBERS, called_ms=NUMBERS),
        st.builds(CancelTimerItem, timer=NUMBERS),
        st.builds(ResultItem, form=NUMBERS, value=TEXT.map(str.encode)),
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
        ("[3,1,2147483647,1700000000000]\n", TimerItem(1, 2147483647, 1_700_000_000_000)),
        ("[4,12]\n", CancelTimerItem(12)),
        ("[5,1,2]\n{}", ResultItem(1, b"{}")),
        ("[5,1,0]\n", ResultItem(1, b"")),
        ("[5,0,0]\n", ResultItem(0, b"")),
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
    assert parse("[1,1,1,0,2,3,1,5,9,1,2,1,1,2,7,6,1,1,2,0]\na[]pt{}zmm") == [
        CallItem(1, "a", "", b"[]"),
        TimerItem(1, 5, 9),
        CallItem(2, "p", "t", b"{}"),
        TakeItem(),
        FailureItem(1, "z", "mm", ""),
    ]


@BOTH
def test_texts_are_measured_in_utf_16_units(parse: Parse) -> None:
    assert parse('[6,1,3,2,1,5,1,4]\né😀ab!"😀"') == [
        FailureItem(1, "é😀", "ab", "!"),
        ResultItem(1, '"😀"'.encode()),
    ]


@BOTH
@given(items=ITEMS)
def test_round_trip(parse: Parse, items: list[Item]) -> None:
    assert parse(written(items)) == items


# The harness makes texts well-formed; should one be cut within a pair, the others stay what they are.
@BOTH
@pytest.mark.parametrize("lone", ["\ud83d", "\ude00"])
def test_a_lone_surrogate_is_one_unit_and_moves_nothing(parse: Parse, lone: str) -> None:
    assert parse(f"[6,1,2,3,1]\na{lone}😀zs") == [FailureItem(1, "a\ufffd", "😀z", "s")]
    assert parse(f"[6,1,2,3,1]\na{lone}xyzs") == [FailureItem(1, "a\ufffd", "xyz", "s")]


@BOTH
def test_a_length_that_ends_within_a_pair_leaves_text_that_can_be_sent(parse: Parse) -> None:
    (item,) = parse("[6,1,1,2,0]\n😀a")
    assert item == FailureItem(1, "\ufffd", "\ufffda", "")


@BOTH
@pytest.mark.parametrize(
    "message",
    [
        "",
        "\n",
        "[1,2",
        "[5,1,1]",
        "no head\n",
        "{}\n",
        "null\n",
        "[null]\n",
        '["5"]\n',
        "[5,1,1.5]\nab",
        "[5,true,0]\n",
        "[[5]]\n",
        "[0]\n",
        "[2]\n",
        "[2,0,1]\na",
        "[9]\n",
        "[-1]\n",
        "[99,1,2]\n",
        # an item lacks numbers
        "[1]\n",
        "[1,1,1,1]\nab",
        "[3]\n",
        "[3,1]\n",
        "[3,1,1]\n",
        "[4]\n",
        "[5]\n",
        "[5,1]\n",
        "[6]\n",
        "[6,1,0,0]\n",
        "[7,5]\n",
        # an item measures what is not there
        "[5,1,1]\n",
        "[5,1,2]\na",
        "[5,1,1,5,1,1]\na",
        "[1,0,1,1,2]\nabc",
        "[6,1,0,0,1]\n",
        "[5,1,2]\né",
        "[5,1,3]\n😀",
        "[5,1,-1]\na",
        "[5,1,1,5,1,-1]\né",
        f"[5,1,{2**62}]\na",
        f"[5,1,{10**30}]\na",
        f"[5,1,{10**30}]\né",
    ],
)
def test_refuses_what_the_harness_never_writes(parse: Parse, message: str) -> None:
    with pytest.raises(ChannelError):
        parse(message)


@pytest.mark.parametrize("message", [b"\xff\xfe\n", b"[5,1,1]\n\xff", b"\x80", b"[" * 10_000 + b"\n", b"[7]\n"[:-1]])
def test_bytes_that_are_no_text_move_nothing_or_are_refused(message: bytes) -> None:
    for parse in (channel.parse_units, channel.parse_utf8):
        try:
            items = parse(message)
        except ChannelError:
            continue
        assert items == [ResultItem(1, "\ufffd".encode())]


@given(items=ITEMS, at=st.integers(0), data=st.data())
def test_a_truncated_message_is_refused_or_shorter(items: list[Item], at: int, data: st.DataObject) -> None:
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
            if isinstance(item, FailureItem):
                (item.name + item.message + item.stack).encode()
            if isinstance(item, CallItem):
                (item.provider + item.tool).encode()
                item.args.decode()


def test_long_messages_are_cut_in_linear_time() -> None:
    # Cutting from the front of a string each time would meet the suite's time limit.
    for text in ("x" * 20, "é" * 20, "😀" * 10):
        message = f"[{','.join(['5,1,20'] * 100_000)}]\n{text * 100_000}"
        assert len(by_units(message)) == len(by_utf8(message)) == 100_000


def test_the_layout_of_the_shared_buffer_is_the_harnesss() -> None:
    source = (Path(__file__).parents[2] / "executor" / "guest" / "src" / "harness" / "channel.js").read_text("utf-8")

    def constant(name: str) -> int:
        (digits,) = re.findall(rf"^const {name} = (0x[0-9a-f]+|\d+)", source, re.MULTILINE)
        return int(digits, 0)

    assert 4 + 2 * constant("CAPACITY") == channel.MESSAGE_BYTES
    assert constant("LOG_CAPACITY") == logs.CAPACITY
    assert constant("MORE") == logs.MORE
