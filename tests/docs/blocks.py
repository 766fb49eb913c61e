"""The code blocks of the pages, and what each says that it is.

A block is what its language says it is, unless a mark stands before it: ``<!-- block: KIND -->`` on a line of its own.

=========  ============  =========================================================================================
language   kind          what the tests do with it
=========  ============  =========================================================================================
python     script        run it; ``print(…)  # text`` must print the text
sh         shell         run it, where ``program.js`` and ``mytools.py`` are
sh         service       start it; it must listen, and end in order
sh         make          its targets must exist
sh         install       what it installs must be this project or pinned by it
js         program       run it as a program; a last line ``// → JSON`` is its result
js         failing       the same, but it must fail; ``// → text`` is its error
js         host          run it in Node, with the bridge; ``console.log(…); // text`` must print the text
toml       settings      the daemon must take it as its configuration
json       data          it must be JSON
text       output        the block before it must print these lines, in this order
text       sketch        nothing: a drawing of bytes, lines or places
mermaid    diagram       the site's own script must be able to read it
any        included      nothing but lines ``--8<-- "path"``: see ``INCLUDED``
any        tested PATH   nothing: the tests of that path run it
=========  ============  =========================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md"))]

#: What a language is without a mark. Of those that are not here, every block needs one.
DEFAULTS = {"python": "script", "sh": "shell", "toml": "settings", "json": "data", "mermaid": "diagram"}

#: What a mark may say, for each language.
KINDS = {
    "python": {"script"},
    "sh": {"shell", "service", "make", "install"},
    "js": {"program", "failing", "host"},
    "toml": {"settings"},
    "json": {"data"},
    "text": {"output", "sketch"},
    "mermaid": {"diagram"},
}

#: Folders of files that pages may include, and the tests that run what is in them.
INCLUDED = {
    "examples/": "tests/docs/test_examples.py",
    "docs/deploy/": "tests/docs/test_deploy.py",
    "migration/": "tests/migration",
    "executor/": "tests",
    "compat/": "tests/compat",
    "node_bridge/": "tests/bridge",
    "bench/": "tests/bench",
    "tests/": "tests",
    "CHANGELOG.md": "tests/docs/test_pages.py",
}

_FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>```+)(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)(?P=fence) *$", re.DOTALL | re.MULTILINE
)
_MARK = re.compile(r"<!-- block: ([^\n]+?) -->\s*\Z")
_SNIPPET = re.compile(r'^--8<-- "(?P<path>[^":]+)(?::(?P<section>[\w-]+))?"$')


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        page: path below the repository.
        line: of its fence; counts from 1.
        language: the first word behind the fence.
        kind: what it is, see above; empty if nothing says so.
        argument: what follows the kind in the mark.
        text: what is between the fences.
        before: the block before it on the page.
    """

    page: str
    line: int
    language: str
    kind: str
    argument: str
    text: str
    before: Block | None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def included(self) -> list[tuple[str, str]]:
        """Path and section of each file that it includes."""
        matches = [_SNIPPET.match(line) for line in self.text.splitlines()]
        return [(match["path"], match["section"] or "") for match in matches if match]


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page, in their order."""
    text = page.read_text()
    before: Block | None = None
    for match in _FENCE.finditer(text):
        language = (match["info"].split() or [""])[0]
        mark = _MARK.search(text, 0, match.start())
        kind, _, argument = mark[1].partition(" ") if mark else (DEFAULTS.get(language, ""), "", "")
        body = re.sub(rf"^{match['indent']}", "", match["body"], flags=re.MULTILINE)
        lines = body.splitlines()
        if lines and all(_SNIPPET.match(line) for line in lines):
            kind = "included"
        before = Block(
            page=str(page.relative_to(ROOT)),
            line=text[: match.start()].count("\n") + 1,
            language=language,
            kind=kind,
            argument=argument,
            text=body,
            before=before,
        )
        yield before


ALL = [block for page in PAGES if page.exists() for block in blocks(page)]


def of_kind(*kinds: str) -> list[Block]:
    """The blocks of all pages that are one of ``kinds``."""
    return [block for block in ALL if block.kind in kinds]
