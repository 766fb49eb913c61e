"""``this.env`` of a client: judged without being decoded, and as JavaScript will read it."""

from __future__ import annotations

import tracemalloc

import pytest

from codemode_executor.daemon.bindings import checked_env
from codemode_executor.errors import BadRequest
from codemode_executor.wire import bridge as wire

TAG = b"__codemode_binary_v1__"
RUN = wire.Run(run=1, code="", functions=["f"], services=["s"])


def cloned(data: bytes = b'"1{}"', handles: bytes = b"[]", tag: bytes = TAG) -> bytes:
    return b'{"%b":"clone","data":%b,"handles":%b}' % (tag, data, handles)


@pytest.mark.parametrize(
    ("env", "is_clone"),
    [
        (b"{}", False),
        (b' {"a": 1}', False),
        (b'{"a":"\\ud800"}', False),
        (cloned(), True),
        (cloned(tag=TAG.replace(b"b", b"\\u0062")), True),
        (cloned(b'"1{\\"a\\":\\"\\\\ud800\\"}"'), True),
        (cloned(b'"1{\\"a\\":\\"\\ud800\\"}"'), True),
        (cloned(handles=b'[["function","f"],["service","s"]]'), True),
        (b'{"%b":"clone","%b":"escaped","value":1}' % (TAG, TAG), False),
        (b'{"%b":"escaped","%b":"clone","data":"1{}","handles":[]}' % (TAG, TAG), True),
        (b'{"%b":["clone"]}' % TAG, False),
        (b'{"%b":"%b"}' % (TAG, b"x" * 1000), False),
    ],
)
def test_what_passes_is_not_touched(env: bytes, is_clone: bool) -> None:
    assert checked_env(RUN, env) == (env, is_clone)


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        (b"[]", "env must be a JSON object"),
        (b"1", "env must be a JSON object"),
        (b'{"a":[1,]}', "the text is not JSON"),
        (b"{", "the text is not JSON"),
        (b'{"a":"\xff"}', "not UTF-8"),
        (b'{"a":"\xed\xa0\x80"}', "not UTF-8"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nests too deeply"),
        (b'{"%b":"clone"}' % TAG, "has none"),
        (cloned(b"1"), "has none"),
        (cloned(handles=b"{}"), "no list"),
        (cloned(handles=b'["function"]'), "declared"),
        (cloned(handles=b"[" + b'["function","f"],' * 2000 + b'["function","f"]]'), "env has 2001 handles"),
        (cloned(handles=b"[" + b'["function","f"],' * 600_000 + b"1]"), "bytes of handles; the limit is"),
    ],
)
def test_what_is_refused(env: bytes, reason: str) -> None:
    with pytest.raises(BadRequest, match=reason):
        checked_env(RUN, env)


@pytest.mark.parametrize(
    "env",
    [
        b'{"a":[' + b"[]," * 500_000 + b"[]]}",
        b'{"a":"\\ud800","b":[' + b"[]," * 500_000 + b"[]]}",
        cloned(b'"1[' + b"[]," * 500_000 + b'[]]"'),
        cloned(b'"1[\\"\\\\ud800\\",' + b"[]," * 500_000 + b'[]]"'),
    ],
    ids=["plain", "with a surrogate", "clone text", "clone text with a surrogate"],
)
def test_many_small_values_are_not_made(env: bytes) -> None:
    """They would take seconds of the event loop and thirty times their memory."""
    tracemalloc.start()
    try:
        assert checked_env(RUN, env)[0] is env
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6 * len(env)
