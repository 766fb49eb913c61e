"""The simple tables of docstrings, which read well in code, as tables of Markdown.

For `scripts/tables.py`, and as an extension of what reads docstrings for the reference.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from griffe import Extension, Object

_TABLE = re.compile(r"^( *)=+ +=+\n(?:.*\n)+?\1=+ +=+\n(?:.*\n)+?\1=+ +=+$", re.MULTILINE)


def markdown(text: str) -> str:
    """Text of a docstring in a cell."""
    return text.replace("``", "`").replace("|", "\\|")


def rows(table: str) -> Iterator[str]:
    """A table of two columns, line by line. A cell goes on in the next line where the first column is empty."""
    lines = inspect.cleandoc(table).splitlines()
    first, second, third = [number for number, line in enumerate(lines) if line.startswith("====")][:3]
    width = lines[first].index(" ")

    def cells(line: str) -> list[str]:
        return [line[:width].strip(), line[width:].strip()]

    (heading,) = (cells(line) for line in lines[first + 1 : second])
    found: list[list[str]] = []
    for line in lines[second + 1 : third]:
        left, right = cells(line)
        if left:
            found.append([left, right])
        else:
            found[-1][1] += " " + right
    yield f"| {heading[0]} | {heading[1]} |"
    yield "| --- | --- |"
    for left, right in found:
        yield f"| {markdown(left)} | {markdown(right)} |"


class SimpleTables(Extension):
    """Docstrings with such a table get the other kind."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Every object that was read comes by here."""
        if obj.docstring is not None and "====" in obj.docstring.value:
            obj.docstring.value = _TABLE.sub(lambda match: "\n".join(rows(match[0])), obj.docstring.value)
