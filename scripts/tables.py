"""Writes the tables of the documentation that come from code: between `<!-- table: NAME -->` and `<!-- end -->`.

python scripts/tables.py            writes them
python scripts/tables.py --check    fails if one is not what the code says
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from codemode_executor import ExecutorError, IsolateExecutor, Limits, errors
from codemode_executor.values import encode_value, result_codec

DOCS = Path(__file__).parent.parent / "docs"
_BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
MIB = 1024 * 1024


def _attributes(docstring: str, section: str) -> dict[str, str]:
    """Names and descriptions of a section of a docstring."""
    body = inspect.cleandoc(docstring).split(f"{section}:\n", 1)[1]
    found: dict[str, str] = {}
    names: list[str] = []
    for line in body.splitlines():
        match = re.match(r"    (\w[\w, ]*): (.*)", line)
        if match:
            names = match[1].split(", ")
            for name in names:
                found[name] = match[2]
        elif line.startswith("        ") and names:
            for name in names:
                found[name] += " " + line.strip()
        elif line.strip():
            break
    return found


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, int) and not isinstance(value, bool) and value >= MIB and value % MIB == 0:
        return f"{value // MIB} MiB"
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}".replace(",", " ") if isinstance(value, int) and not isinstance(value, bool) else f"`{value!r}`"


def _markdown(text: str) -> str:
    return text.replace("``", "`").replace("|", "\\|")


def limits() -> Iterator[str]:
    yield "| `Limits` | default | what it bounds |"
    yield "| --- | --- | --- |"
    defaults = Limits()
    for name, text in _attributes(Limits.__doc__ or "", "Attributes").items():
        yield f"| `{name}` | {_shown(getattr(defaults, name))} | {_markdown(text)} |"


def options() -> Iterator[str]:
    yield "| argument | default | meaning |"
    yield "| --- | --- | --- |"
    parameters = inspect.signature(IsolateExecutor.__init__).parameters
    for name, text in _attributes(IsolateExecutor.__doc__ or "", "Args").items():
        yield f"| `{name}` | {_shown(parameters[name].default)} | {_markdown(text)} |"


def error_codes() -> Iterator[str]:
    yield "| class | `code` | when |"
    yield "| --- | --- | --- |"
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, ExecutorError) and kind is not ExecutorError:
            first = inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0].replace("\n", " ")
            yield f"| `{name}` | `{kind.code}` | {_markdown(first)} |"


def _from_docstring(docstring: str) -> Iterator[str]:
    """The simple table of a docstring. A cell goes on in the next line where the first column is empty."""
    lines = inspect.cleandoc(docstring).splitlines()
    first, second, third = [number for number, line in enumerate(lines) if line.startswith("====")][:3]
    width = lines[first].index(" ")

    def cells(line: str) -> list[str]:
        return [line[:width].strip(), line[width:].strip()]

    (heading,) = (cells(line) for line in lines[first + 1 : second])
    rows: list[list[str]] = []
    for line in lines[second + 1 : third]:
        left, right = cells(line)
        if left:
            rows.append([left, right])
        else:
            rows[-1][1] += " " + right
    yield f"| {heading[0]} | {heading[1]} |"
    yield "| --- | --- |"
    for left, right in rows:
        yield f"| {_markdown(left)} | {_markdown(right)} |"


def python_results() -> Iterator[str]:
    return _from_docstring(result_codec.__doc__ or "")


def python_tools() -> Iterator[str]:
    return _from_docstring(encode_value.__doc__ or "")


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "limits": limits,
    "options": options,
    "errors": error_codes,
    "python_results": python_results,
    "python_tools": python_tools,
}


def render(text: str) -> str:
    """``text`` with every table as the code has it."""
    return _BLOCK.sub(lambda match: match[1] + "\n" + "\n".join(TABLES[match[2]]()) + "\n\n" + match[3], text)


def main() -> int:
    check = "--check" in sys.argv[1:]
    stale: list[str] = []
    for page in sorted(DOCS.glob("**/*.md")):
        text = page.read_text()
        fresh = render(text)
        if fresh == text:
            continue
        stale.append(page.name)
        if not check:
            page.write_text(fresh)
    if stale:
        print(("not up to date: " if check else "written: ") + ", ".join(stale))
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
