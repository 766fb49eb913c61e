"""What the build of the documentation does besides mkdocs' own: a site that is complete on its own.

The theme would fetch mermaid from a third party as soon as a page has a diagram. The build takes the pinned package
that ``npm ci`` has put beside this file into the site instead, for the pages that have one.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

_MERMAID = Path(__file__).parent / "node_modules" / "@mermaid-js" / "tiny" / "dist" / "mermaid.tiny.js"
_IN_SITE = "assets/javascripts/mermaid.tiny.js"
_COLOURS = "assets/diagrams.js"
# What a browser would fetch from elsewhere without being asked.
_ELSEWHERE = re.compile(
    r"<(?:script|img|iframe|source|video|audio|object|embed)\b[^>]*\bhttps?://[^>]*>|"
    r"<link\b(?=[^>]*\bhttps?://)(?![^>]*\brel=\"(?:canonical|prev|next|alternate)\")[^>]*>"
)
_SCROLLED = r'<div class="diagram" role="group" aria-label="Diagram" tabindex="0">\g<0></div>'
_DIAGRAM = re.compile(r'<pre class="mermaid">.*?</pre>', re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The diagrams' script becomes a file of the site."""
    if not _MERMAID.is_file():
        raise PluginError(
            f"{_MERMAID} is missing, which draws the diagrams: run `make docs`, or `npm ci --ignore-scripts`"
            f" in {_MERMAID.parents[4]}"
        )
    files.append(File.generated(config, _IN_SITE, abs_src_path=str(_MERMAID)))
    return files


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """A page with a diagram loads the script, before the theme looks for it; a diagram can be scrolled.

    Raises:
        PluginError: the page would make a request to somebody else.
    """
    elsewhere = _ELSEWHERE.search(output)
    if elsewhere is not None:
        raise PluginError(f"{page.file.src_uri} would make a request to somebody else: {elsewhere[0]}")
    output, diagrams = _DIAGRAM.subn(
        r'<div class="diagram" role="group" aria-label="Diagram" tabindex="0">\g<0></div>', output
    )
    if not diagrams:
        return output
    scripts = "".join(f'<script src="{get_relative_url(path, page.url)}"></script>\n' for path in (_IN_SITE, _COLOURS))
    return output.replace("</head>", scripts + "</head>", 1)
