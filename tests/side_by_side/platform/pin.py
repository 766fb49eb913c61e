"""Writes names.json from what upstream answers now.

python tests/side_by_side/platform/pin.py
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

if __name__ == "__main__":  # as a script: two folders up is where the packages of the tests are
    sys.path.insert(0, str(Path(__file__).parents[2]))

from side_by_side.platform import surface
from side_by_side.upstream import Upstream


async def main() -> None:
    upstream = Upstream()
    try:
        found = surface.answer(await upstream.run(surface.survey()))
    finally:
        upstream.close()
    names = surface.names(found)
    lines = [f'"globals": {json.dumps(names.globals)}', f'"closed": {json.dumps(names.closed)}']
    modules = [f"    {json.dumps(name)}: {json.dumps(exports)}" for name, exports in names.modules.items()]
    lines.append('"modules": {\n' + ",\n".join(modules) + "\n  }")
    (surface.HERE / "names.json").write_text("{\n  " + ",\n  ".join(lines) + "\n}\n")


if __name__ == "__main__":
    asyncio.run(main())
