"""What programs find on each side: the programs that ask, and what their answers mean."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from side_by_side.corpus import Case

HERE = Path(__file__).parent

#: ``absent``: upstream has it, ours has not. ``extra``: the other way. ``differs``: both have it, not the same.
Apart = Literal["absent", "differs", "extra"]


class Exemption(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"apart": "is"}):
    """Names in which ours is not upstream, on purpose.

    Attributes:
        subject: the subject of ``probe.js`` that they are about.
        names: ``*`` stands for anything.
        apart: in which way.
        because: the reason.
    """

    names: list[str]
    apart: Apart
    because: str
    subject: str | None = None


class Subject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A class or namespace that ``probe.js`` misuses.

    Attributes:
        area: the part of the platform that it belongs to.
        name: as shown.
        value: the expression that gives it; its name by default.
        make: an expression for a fresh instance, in which ``subject.value`` is the class.
        skip: members that are not called: what they answer varies, or ends the program.
        random: members whose answers are random.
        note: why it is as it is.
    """

    area: str
    name: str
    value: str | None = None
    make: str | None = None
    skip: list[str] = []
    random: list[str] = []
    note: str | None = None


class Difference(msgspec.Struct, frozen=True):
    """One name in which the two sides are apart."""

    apart: Apart
    upstream: str
    ours: str


def _rows(name: str) -> Iterator[bytes]:
    return (line for line in (HERE / name).read_bytes().splitlines() if line.strip())


def modules() -> list[str]:
    """The specifiers that are asked for: every module of Node, of Cloudflare, and two that nobody has."""
    return msgspec.json.decode((HERE / "modules.json").read_bytes(), type=list[str])


def subjects() -> list[Subject]:
    return [msgspec.json.decode(line, type=Subject) for line in _rows("subjects.jsonl")]


def exemptions(name: str) -> list[Exemption]:
    """The reviewed exceptions of a file."""
    return [msgspec.json.decode(line, type=Exemption) for line in _rows(name)]


def survey() -> Case:
    """The program that lists the whole platform."""
    program = f"async () => ({_function('survey.js')})({json.dumps(modules())})"
    return Case(id="survey", kind="platform", code=program, timeout=20_000)


def probe(subject: Subject) -> Case:
    """The program that misuses ``subject``."""
    members = [f"{part}: {json.dumps(getattr(subject, part))}" for part in ("name", "skip", "random")]
    members.append(f"value: {subject.value or subject.name}")
    make = f"subject.make = () => {subject.make};" if subject.make else ""
    program = f"async () => {{ const subject = {{ {', '.join(members)} }}; {make} return ({_function('probe.js')})(subject) }}"
    return Case(id=f"probe {subject.name}", kind="platform", code=program, timeout=20_000)


def _function(name: str) -> str:
    text = (HERE / name).read_text()
    return text[text.index("async (") :].rstrip()


def answer(envelope: Mapping[str, Any] | None) -> dict[str, str]:
    """What such a program found, by name.

    Raises:
        AssertionError: it failed.
    """
    assert envelope is not None
    assert "result" in envelope, envelope
    assert not envelope.get("error"), envelope
    return json.loads(_unpacked(envelope["result"]))


def _unpacked(packed: object) -> str:
    return packed if isinstance(packed, str) else "".join(map(_unpacked, cast("list[object]", packed)))


def apart(upstream: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, Difference]:
    """Where two answers are not the same. What hangs on something that one side has not is not counted again."""
    found: dict[str, Difference] = {}
    for name in [*upstream, *(name for name in ours if name not in upstream)]:
        theirs, mine = _canonical(upstream.get(name)), _canonical(ours.get(name))
        if theirs == mine or _under(name, found):
            continue
        if mine is None or (mine.startswith(_NO_MODULE) and theirs is not None and not theirs.startswith(_NO_MODULE)):
            found[name] = Difference("absent", theirs or "", mine or "")
        elif theirs is None or (theirs.startswith(_NO_MODULE) and not mine.startswith(_NO_MODULE)):
            found[name] = Difference("extra", theirs or "", mine)
        else:
            found[name] = Difference("differs", theirs, mine)
    return found


def _canonical(text: str | None) -> str | None:
    # What workerd adds is an address of its maker's documentation.
    return None if text is None else re.sub(r"(Illegal invocation)\b.*", r"\1", text)


_NO_MODULE = "not importable: "


def _under(name: str, found: Mapping[str, Difference]) -> bool:
    """Something that ``name`` is a member of is missing on one side."""
    at = name.find(".")
    while at >= 0:
        owner = found.get(name[:at])
        if owner is not None and owner.apart != "differs":
            return True
        at = name.find(".", at + 1)
    return False


def unexplained(found: Mapping[str, Difference], exempt: Sequence[Exemption]) -> tuple[dict[str, Difference], list[str]]:
    """The differences that no exception explains, and the patterns that explain none."""
    rest = dict(found)
    idle: list[str] = []
    for exemption in exempt:
        for pattern in exemption.names:
            expression = re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)
            hits = [name for name, it in found.items() if it.apart == exemption.apart and expression.fullmatch(name)]
            if not hits:
                idle.append(f"{pattern} ({exemption.apart})")
            for name in hits:
                rest.pop(name, None)
    return rest, idle
