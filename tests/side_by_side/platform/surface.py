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
#: ``words``: both refuse, and do not say the same. ``length``: the same functions, with another ``length``.
Apart = Literal["absent", "differs", "extra", "words", "length"]


class Exemption(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"apart": "is"}):
    """Names in which ours is not upstream, on purpose.

    Attributes:
        subject: what they are about: a subject of ``probe.js``, an encoding.
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
        strangers: its members are called on other objects as well. Of what is written in JavaScript on both sides, the
            answers to that are accidents.
        note: why it is as it is.
    """

    area: str
    name: str
    value: str | None = None
    make: str | None = None
    skip: list[str] = []
    random: list[str] = []
    strangers: bool = True
    note: str | None = None


class Difference(msgspec.Struct, frozen=True):
    """One name in which the two sides are apart."""

    apart: Apart
    upstream: str
    ours: str


class Names(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What upstream has, by name alone.

    Attributes:
        globals: the globals that are not the language's.
        modules: the exports of each module that can be imported.
        closed: the modules of Node and Cloudflare that cannot be imported.
    """

    globals: list[str]
    modules: dict[str, list[str]]
    closed: list[str]


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


def pinned_names() -> Names:
    """Upstream's names as committed."""
    return msgspec.json.decode((HERE / "names.json").read_bytes(), type=Names)


def areas() -> dict[str, list[str]]:
    """The globals by the part of the platform that they are shown in."""
    return msgspec.json.decode((HERE / "areas.json").read_bytes(), type=dict[str, list[str]])


def names(found: Mapping[str, str]) -> Names:
    """The names in the answer of the survey."""
    specifiers = modules()
    shown = {(name if ":" in name else f"'{name}'"): name for name in specifiers}
    open_, closed = dict[str, list[str]](), list[str]()
    for label, name in shown.items():
        if name.endswith("no-such-module"):
            continue
        if found[label].startswith(_NO_MODULE):
            closed.append(name)
        elif found[label] == "module":
            members = (other.removeprefix(f"{label}.") for other in found if other.startswith(f"{label}."))
            open_[name] = [member for member in members if "." not in member]
    return Names([name for name in found if name not in shown and "." not in name], open_, closed)


def survey() -> Case:
    """The program that lists the whole platform."""
    program = f"async () => ({_function('survey.js')})({json.dumps(modules())})"
    return Case(id="survey", kind="platform", code=program, timeout=20_000)


def probe(subject: Subject) -> Case:
    """The program that misuses ``subject``."""
    members = [f"{part}: {json.dumps(getattr(subject, part))}" for part in ("name", "skip", "random", "strangers")]
    members.append(f"value: {subject.value or subject.name}")
    make = f"subject.make = () => {subject.make};" if subject.make else ""
    start = f"const subject = {{ {', '.join(members)} }}; {make}"
    program = f"async () => {{ {start} return ({_function('probe.js')})(subject) }}"
    return Case(id=f"probe {subject.name}", kind="platform", code=program, timeout=20_000)


def decoding(labels: Sequence[str], encodings: Sequence[str]) -> Case:
    """The program that asks TextDecoder about ``labels``, and has it decode in ``encodings``."""
    program = f"async () => ({_function('encodings.js')})({json.dumps(labels)}, {json.dumps(encodings)})"
    return Case(id=f"decoding {' '.join(encodings)}", kind="platform", code=program, timeout=20_000)


def cloning() -> Case:
    """The program that clones a value of every kind."""
    makers = [f"{json.dumps(name)}: () => {_body(text)}" for name, text in _values()]
    makers += [f"{json.dumps(f'a {it.name}')}: () => ({it.make})" for it in subjects() if _is_plain(it)]
    program = f"async () => ({_function('clones.js')})({{ {', '.join(makers)} }})"
    return Case(id="cloning", kind="platform", code=program, timeout=20_000)


def _values() -> list[tuple[str, str]]:
    return [msgspec.json.decode(line, type=tuple[str, str]) for line in _rows("clones.jsonl")]


def _body(text: str) -> str:
    return text if text.startswith("{ ") else f"({text})"


def _is_plain(subject: Subject) -> bool:
    return subject.make is not None and "subject." not in subject.make


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
    found: dict[str, str] = json.loads(_unpacked(envelope["result"]))
    return {_printable(name): _printable(text) for name, text in found.items()}


def _printable(text: str) -> str:
    """Lone surrogates escaped: what is written of them is text."""
    return text.encode("utf-8", "backslashreplace").decode()


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
            found[name] = Difference(_how(theirs, mine), theirs, mine)
    return found


def _how(upstream: str, ours: str) -> Apart:
    if _REFUSAL.match(upstream) and _REFUSAL.match(ours):
        return "words"
    if _LENGTH.sub("", upstream) == _LENGTH.sub("", ours):
        return "length"
    return "differs"


_REFUSAL = re.compile(r"(?:promise )?threw ")
_LENGTH = re.compile(r"\(\d+\)")


def differing(upstream: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, Difference]:
    """Where two answers to misuse are not the same. That one side has not got a member is for the survey to tell."""
    found = apart(upstream, ours)
    assert len(found) < len(upstream), "nothing that is asked of it is the same"
    return {name: it for name, it in found.items() if it.apart in ("differs", "words")}


def _canonical(text: str | None) -> str | None:
    # What workerd adds is an address of its maker's documentation.
    return None if text is None else re.sub(r"(Illegal invocation)\b.*", r"\1", text)


_NO_MODULE = "not importable: "


def _under(name: str, found: Mapping[str, Difference]) -> bool:
    """Something that ``name`` is a member of is missing on one side."""
    at = name.find(".")
    while at >= 0:
        owner = found.get(name[:at])
        if owner is not None and owner.apart in ("absent", "extra"):
            return True
        at = name.find(".", at + 1)
    return False


def unexplained(
    found: Mapping[str, Difference], exempt: Sequence[Exemption]
) -> tuple[dict[str, Difference], list[str]]:
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
