"""Why a target is not met: the sections of profiles.md, each of one target or several."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("profiles.md")

_HEADING = re.compile(r"^## (?P<title>[^\n{]+?) *\{(?P<ids>[^\n}]+)\}$", re.MULTILINE)


@dataclass(frozen=True)
class Profile:
    """A section: the ids of the targets that it explains, its heading, and its text as Markdown."""

    targets: frozenset[str]
    title: str
    text: str

    @property
    def anchor(self) -> str:
        """Of its heading on the page."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


def read(known: set[str], file: Path = FILE) -> list[Profile]:
    """The sections in their order. Raises ValueError for one of no known target, and for a target in two sections."""
    text = file.read_text()
    headings = list(_HEADING.finditer(text))
    found: list[Profile] = []
    for number, heading in enumerate(headings):
        end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
        targets = frozenset(heading["ids"].split())
        if unknown := targets - known:
            raise ValueError(f"{file.name}: there is no target {min(unknown)!r}; there are {', '.join(sorted(known))}")
        for other in found:
            if twice := other.targets & targets:
                raise ValueError(f"{file.name}: {min(twice)!r} has two sections: {other.title}, {heading['title']}")
        found.append(Profile(targets, heading["title"], text[heading.end() : end].strip()))
    return found
