"""Writes the checklist of docs/replacing.md from checks.jsonl: for every documented difference, what to check for it.

The differences are those of programs, which have a page, and those of hosts in workerd, of which only this page tells.

python tests/migration/checks.py            writes it
python tests/migration/checks.py --check    fails if it is not what the data says
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

if __name__ == "__main__":  # as a script: its folder's folder is where the packages of the tests are
    sys.path.insert(0, str(Path(__file__).parent.parent))

from side_by_side.corpus import differences
from written_page import settle

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "replacing.md"
_OF_HOSTS = HERE.parent / "hosts" / "workerd" / "differences.toml"
_BLOCK = re.compile(r"(<!-- checks -->\n).*?(<!-- end of checks -->)", re.DOTALL)

_HEADINGS = {
    "host": "In the host",
    "tools": "In the tools",
    "results": "What programs return and log",
    "programs": "What programs are",
    "network": "The network, where it is open",
    "platform": "Corners of the platform",
}


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to check for a difference.

    Attributes:
        difference: its id.
        where: the part of the checklist.
        shadow: what a shadow reports where it shows first; ``nothing``: it is not to be seen there.
        check: what to look for.
    """

    difference: str
    where: Literal["host", "tools", "results", "programs", "network", "platform", "runtime"]
    shadow: Literal["outcome", "result", "error", "logs", "calls", "nothing"]
    check: str


def checks() -> list[Check]:
    """The checklist, in the order of the differences: of programs, then of hosts in workerd.

    Raises:
        ValueError: a difference has none, or one has no difference.
    """
    lines = (HERE / "checks.jsonl").read_text().splitlines()
    found = {check.difference: check for check in (msgspec.json.decode(line, type=Check) for line in lines)}
    order = [*differences(), *_of_hosts()]
    apart = sorted(found.keys() ^ set(order))
    if apart or len(found) != len(lines):
        raise ValueError(f"checks.jsonl and the documented differences are not the same, each once: {apart}")
    return [found[identity] for identity in order]


def _of_hosts() -> dict[str, dict[str, str]]:
    return tomllib.loads(_OF_HOSTS.read_text())


def render() -> str:
    """What stands between the marks."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    for where, heading in _HEADINGS.items():
        yield ""
        yield f"### {heading}"
        yield ""
        yield "| difference | a shadow reports | check |"
        yield "| --- | --- | --- |"
        unseen: list[str] = []
        for check in checks():
            if check.where != where:
                continue
            name = check.difference.replace("-", " ").capitalize()
            link = f"[{name}](differences.md#{check.difference})"
            if check.check == "Nothing.":
                unseen.append(link)
                continue
            yield f"| {link} | {check.shadow} | {_cell(check.check)} |"
        if unseen:
            yield ""
            yield f"Nothing to check, but a shadow may report: {', '.join(unseen)}."
    yield ""
    yield "### The durable runtime, connectors and bindings"
    yield ""
    yield "| upstream | here | check |"
    yield "| --- | --- | --- |"
    of_hosts = _of_hosts()
    for check in checks():
        if check.where == "runtime":
            difference = of_hosts[check.difference]
            yield f"| {_cell(difference['upstream'])} | {_cell(difference['ours'])} | {_cell(check.check)} |"
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> int:
    fresh, count = _BLOCK.subn(lambda match: f"{match[1]}{render()}{match[2]}", PAGE.read_text())
    if count != 1:
        print(f"{PAGE.name} needs one place between <!-- checks --> and <!-- end of checks -->")
        return 1
    return settle(PAGE, fresh, "python tests/migration/checks.py")


if __name__ == "__main__":
    sys.exit(main())
