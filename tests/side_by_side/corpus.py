"""The corpus: programs as data, and the differences that are documented."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

HERE = Path(__file__).parent

CLASSES = (
    "normalisation",
    "values out",
    "values in",
    "errors out",
    "errors in",
    "console",
    "names",
    "proxies",
    "un-awaited calls",
    "concurrency",
    "timeouts",
    "sizes",
    "strictness",
    "scope leaks",
    "tampering",
    "programs",
    "platform",
    "modules",
    "network",
)

Part = Literal["result", "error", "logs", "calls"]

#: What is compared unless a case says otherwise.
PARTS: tuple[Part, ...] = ("result", "error", "logs")


class Namespace(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A provider of a case: its name, and the names of its fixture tools (``None``: the usual ones)."""

    ns: str
    tools: list[str] | None = None


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename={"kind": "class"}):
    """One program, and what becomes of it on both sides.

    Attributes:
        id: unique in the corpus.
        kind: its class, one of ``CLASSES``.
        code: the program.
        tools, ns, providers: names of fixture tools, and the namespaces that they are in; one named ``codemode`` by
            default.
        prelude, modules, bindings: upstream's options of these names.
        outbound: the network is open, and this site of ``src/outbound.mjs`` answers all of it.
        timeout: of both executors, in milliseconds.
        compare: the parts of the envelope that are compared; ``calls`` are the tool calls and requests that the host
            saw.
        difference: the documented difference that this case shows.
        ours: what ours answers where upstream is not the measure: parts of the described envelope. Beside
            ``difference`` it is so; beside ``pending`` it will be.
        pending: the issue that will make this case agree, or be as ``ours`` says.
        through: ``compat``: the compat layer decides this case, for example by refusing a name; the engine itself is
            not asked.
        upstream: ``hangs`` or ``crashes``: upstream's whole process does, so it is not given the program.
        note: why the case is as it is.
    """

    id: str
    kind: str
    code: str
    tools: list[str] | None = None
    ns: str | None = None
    providers: list[Namespace] | None = None
    prelude: str | None = None
    modules: dict[str, Any] | None = None
    bindings: dict[str, Any] | None = None
    outbound: Literal["site"] | None = None
    timeout: int | float | None = None
    compare: list[Part] | None = None
    difference: str | None = None
    ours: dict[str, Any] | None = None
    pending: int | None = None
    through: Literal["compat"] | None = None
    upstream: Literal["hangs", "crashes"] | None = None
    note: str | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        return PARTS if self.compare is None else tuple(self.compare)

    @property
    def timeout_ms(self) -> float:
        if self.timeout is not None:
            return self.timeout
        return 20_000 if self.kind == "sizes" else 3000

    @property
    def namespaces(self) -> list[Namespace]:
        return self.providers or [Namespace(self.ns or "codemode", self.tools)]

    def request(self) -> dict[str, Any]:
        """The case as upstream's host takes it."""
        body: dict[str, Any] = {
            "code": self.code,
            "providers": [{"ns": space.ns, "tools": space.tools} for space in self.namespaces],
            "prelude": self.prelude,
            "modules": self.modules,
            "bindings": self.bindings,
            "outbound": self.outbound,
            "timeout": self.timeout_ms,
            "calls": "calls" in self.parts,
        }
        for space in body["providers"]:
            if space["tools"] is None:
                del space["tools"]
        return {key: value for key, value in body.items() if value is not None}


class Difference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something in which the engine differs from upstream on purpose.

    Attributes:
        id: the name that cases use.
        upstream, ours: what each side does.
        why: the reason for it.
        change: what a host may have to change; empty if nothing.
    """

    id: str
    upstream: str
    ours: str
    why: str
    change: str = ""


#: The difference of every program that makes upstream's ``execute`` reject: ours returns an error. No case names it.
NEVER_REJECTS = "never-rejects"


def _lines(path: Path) -> Iterator[bytes]:
    # Not splitlines(): programs hold line separators that only JavaScript knows.
    for line in path.read_bytes().split(b"\n"):
        if line.strip():
            yield line


@cache
def cases() -> tuple[Case, ...]:
    """Every case, in the order of the files."""
    decode = msgspec.json.Decoder(Case)
    found: list[Case] = []
    for path in sorted((HERE / "corpus").glob("*.jsonl")):
        for number, line in enumerate(_lines(path), 1):
            try:
                found.append(_decode_case(decode, line))
            except msgspec.DecodeError as error:
                raise ValueError(f"{path.name}, line {number}: {error}") from error
    return tuple(found)


def _decode_case(decode: msgspec.json.Decoder[Case], line: bytes) -> Case:
    try:
        return decode.decode(line)
    except msgspec.DecodeError:
        # A program may hold a lone surrogate, which msgspec refuses.
        return msgspec.convert(json.loads(line), Case)


@cache
def differences() -> dict[str, Difference]:
    """The documented differences by id, in the order of the file."""
    decoded = [msgspec.json.decode(line, type=Difference) for line in _lines(HERE / "differences.jsonl")]
    return {difference.id: difference for difference in decoded}


def pending() -> Counter[int]:
    """How many cases wait for each issue."""
    return Counter(case.pending for case in cases() if case.pending is not None)


def allowed_pending() -> dict[int, int]:
    """The committed numbers of ``pending.json``."""
    return msgspec.json.decode((HERE / "pending.json").read_bytes(), type=dict[int, int])
