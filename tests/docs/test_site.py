"""The build of the site: complete on its own, or it fails."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from mkdocs.exceptions import PluginError

from docs.blocks import ROOT

PAGE: Any = SimpleNamespace(url="guides/tools/", file=SimpleNamespace(src_uri="guides/tools.md"))
DIAGRAM = '<pre class="mermaid"><code>flowchart LR</code></pre>'


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    path = ROOT / "scripts" / "site" / "hooks.py"
    spec = importlib.util.spec_from_file_location("site_hooks", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "piece",
    [
        '<script src="https://cdn.example.com/mermaid.js"></script>',
        '<img alt="" src="http://example.com/badge.svg">',
        '<link rel="stylesheet" href="https://fonts.example.com/css">',
        '<link href="https://fonts.example.com/css" rel="stylesheet">',
        '<iframe title="x" src="https://example.com"></iframe>',
    ],
)
def test_a_page_that_would_ask_somebody_else_is_refused(hooks: ModuleType, piece: str) -> None:
    with pytest.raises(PluginError, match=r"guides/tools\.md would make a request"):
        hooks.on_post_page(f"<head></head><body>{piece}</body>", page=PAGE, config=None)


def test_links_are_no_requests(hooks: ModuleType) -> None:
    page = '<head><link rel="canonical" href="https://example.com/x"></head><a href="https://example.com">x</a>'
    assert hooks.on_post_page(page, page=PAGE, config=None) == page


def test_a_page_with_a_diagram_loads_what_draws_it_before_the_theme(hooks: ModuleType) -> None:
    page = f'<head></head><body>{DIAGRAM}<script src="../../assets/bundle.js"></script></body>'
    done: str = hooks.on_post_page(page, page=PAGE, config=None)
    script = '<script src="../../assets/javascripts/mermaid.tiny.js"></script>'
    assert 0 < done.index(script) < done.index("bundle.js")
    assert "mermaid" not in hooks.on_post_page("<head></head><body></body>", page=PAGE, config=None)


def test_a_build_without_the_package_says_what_to_do(
    hooks: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(hooks, "_MERMAID", tmp_path / "a" / "b" / "c" / "d" / "e" / "mermaid.js")
    with pytest.raises(PluginError, match="npm ci"):
        hooks.on_files([], config=None)
