"""Writes the tables of the documentation that come from code and from measurements.

They stand between `<!-- table: NAME -->` and `<!-- end -->`, in the README and on the pages of docs/.

python scripts/tables.py            writes them
python scripts/tables.py --check    fails if one is not what the code says
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from simple_tables import markdown, rows

from codemode_executor import ExecutorError, IsolateExecutor, Limits, errors
from codemode_executor.jail.layers import LAYERS
from codemode_executor.jail.policy import EXTRA
from codemode_executor.values import encode_value, result_codec

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
MEASURED = ROOT / "bench" / "results.json"
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


def limits() -> Iterator[str]:
    yield "| `Limits` | default | what it bounds |"
    yield "| --- | --- | --- |"
    defaults = Limits()
    for name, text in _attributes(Limits.__doc__ or "", "Attributes").items():
        yield f"| `{name}` | {_shown(getattr(defaults, name))} | {markdown(text)} |"


def options() -> Iterator[str]:
    yield "| argument | default | meaning |"
    yield "| --- | --- | --- |"
    parameters = inspect.signature(IsolateExecutor.__init__).parameters
    for name, text in _attributes(IsolateExecutor.__doc__ or "", "Args").items():
        yield f"| `{name}` | {_shown(parameters[name].default)} | {markdown(text)} |"


def error_codes() -> Iterator[str]:
    yield "| class | `code` | when |"
    yield "| --- | --- | --- |"
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, ExecutorError) and kind is not ExecutorError:
            first = inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0].replace("\n", " ")
            yield f"| `{name}` | `{kind.code}` | {markdown(first)} |"


def layers() -> Iterator[str]:
    yield "| | layer | by default |"
    yield "| --: | --- | --- |"
    for number, layer in enumerate(LAYERS, 1):
        asked = "used where it is permitted" if layer.name in EXTRA else "required"
        yield f"| {number} | `{layer.name}` | {asked} |"


def python_results() -> Iterator[str]:
    return rows(result_codec.__doc__ or "")


def python_tools() -> Iterator[str]:
    return rows(encode_value.__doc__ or "")


@cache
def _measured() -> dict[str, Any]:
    if not MEASURED.exists():
        raise SystemExit(f"{MEASURED} is missing, which some tables are written from: run `make bench`")
    return json.loads(MEASURED.read_text())


def _medians(workload: str) -> dict[str, float]:
    """Of every peer that has carried a workload out."""
    return {
        result["peer"]: result["summary"]["median"]
        for result in _measured()["results"]
        if result["workload"] == workload and result["summary"] is not None
    }


def _number(value: float | None) -> str:
    if value is None:
        return ""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}".replace(",", " ")


_OURS = {
    "engine": "**this engine**, from Python",
    "bridge": "**this engine**, from Node or a Worker",
    "engine-process": "the same, a process for each run",
    "engine-jitless": "the same, and V8 compiles nothing",
}


def _process(name: str) -> str:
    """Whether a peer's runs have a process of their own, in short."""
    text: str = _measured()["peers"][name]["process"]
    same = re.match(r"as `(\S+)`", text)
    return _process(same[1]) if same else re.split("[,:]", text)[0]


def peers() -> Iterator[str]:
    measured = _measured()
    yield "| | process of a run | a run, ms | a tool call, µs | 1 000 calls at once, ms | runs/s | waiting run, MiB |"
    yield "| --- | --- | --: | --: | --: | --: | --: |"
    saturated = _medians("saturated-4"), _medians("saturated-16")
    order = [*_OURS, *(name for name in measured["peers"] if name not in _OURS)]
    for name in order:
        # 1 000 calls in a run, and nothing else to speak of: its milliseconds are a call's microseconds.
        columns = [_medians(workload).get(name) for workload in ("no-tool", "sequential-calls", "parallel-calls")]
        rates = [rates[name] for rates in saturated if name in rates]
        columns += [max(rates) if rates else None, _medians("memory").get(name)]
        title = _OURS.get(name) or markdown(measured["peers"][name]["title"])
        yield f"| {title} | {markdown(_process(name))} | {' | '.join(map(_number, columns))} |"
    yield ""
    machine = measured["machine"]
    quick = " A quick run, whose numbers say little." if measured["quick"] else ""
    yield f"{machine['date']}, {machine['cores']} cores of {machine['processor']}.{quick}"


def sizing() -> Iterator[str]:
    """What a daemon needs, from what the bridge and its daemon took on the machine of the benchmark."""
    machine = _measured()["machine"]
    rate = max(_medians("saturated-4")["bridge"], _medians("saturated-16")["bridge"])
    cores = int(machine["cores"])
    yield f"| on {cores} processors of the benchmark's machine | |"
    yield "| --- | --: |"
    yield f"| runs without tools, a second, at saturation | {_number(rate)} |"
    yield f"| of which on each processor | {_number(rate / cores)} |"
    yield f"| processor time of such a run, in all, ms | {_number(1000 * cores / rate)} |"
    yield f"| memory of a run that waits for a tool, MiB | {_number(_medians('memory')['bridge'])} |"


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "limits": limits,
    "options": options,
    "errors": error_codes,
    "layers": layers,
    "python_results": python_results,
    "python_tools": python_tools,
    "peers": peers,
    "sizing": sizing,
}


def render(text: str) -> str:
    """``text`` with every table as the code has it."""
    return _BLOCK.sub(lambda match: match[1] + "\n" + "\n".join(TABLES[match[2]]()) + "\n\n" + match[3], text)


def main() -> int:
    check = "--check" in sys.argv[1:]
    stale: list[str] = []
    for page in PAGES:
        text = page.read_text()
        fresh = render(text)
        if fresh == text:
            continue
        stale.append(str(page.relative_to(ROOT)))
        if not check:
            page.write_text(fresh)
    if stale:
        print(("not up to date: " if check else "written: ") + ", ".join(stale))
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
