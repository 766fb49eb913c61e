"""Charts as SVG, each in two palettes: one for light pages, one for dark ones. Text is text, nothing is fetched."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
_LABELS = 190
_PLOT = 400
_VALUES = 130
_ROW = 24
_WIDTH = _LABELS + _PLOT + _VALUES
#: Beyond this, a linear axis shows the small ones as nothing.
_LOG_FROM = 12.0


@dataclass(frozen=True)
class Palette:
    """Colours of one kind of page. ``ours``, ``upstream`` and ``other`` are those of the marks."""

    text: str
    faint: str
    grid: str
    ours: str
    upstream: str
    other: str

    def mark(self, role: str) -> str:
        """The colour of a peer's mark."""
        return {"ours": self.ours, "upstream": self.upstream}.get(role, self.other)


PALETTES = {
    "light": Palette("#1f2328", "#59636e", "#d8dee4", "#4051b5", "#c2410c", "#6e7781"),
    "dark": Palette("#e6e9ef", "#a3adba", "#3b4252", "#8c9eff", "#ffab70", "#98a3b3"),
}


@dataclass(frozen=True)
class Row:
    """One peer: median with quartiles, or with percentiles above it. ``role``: ours, upstream or other."""

    label: str
    role: str
    median: float
    low: float
    high: float
    note: str


@dataclass(frozen=True)
class Panel:
    """One workload. ``bars``: from zero; otherwise marks on an axis that may be logarithmic."""

    title: str
    unit: str
    rows: Sequence[Row]
    bars: bool = False


@dataclass(frozen=True)
class Line:
    """One peer's values in time."""

    label: str
    role: str
    values: Sequence[float]


def panels(given: Sequence[Panel], palette: Palette, describe: str) -> str:
    """Panels below each other, as one document."""
    parts: list[str] = []
    top = 8.0
    for panel in given:
        parts.append(_panel(panel, palette, top))
        top += 62 + _ROW * len(panel.rows)
    return _document(parts, _WIDTH, top, palette, describe)


def _panel(panel: Panel, palette: Palette, top: float) -> str:
    values = [v for row in panel.rows for v in (row.median, row.low, row.high)]
    place, ticks = _axis(values, bars=panel.bars)
    bottom = top + 34 + _ROW * len(panel.rows)
    out = [
        _text(0, top + 16, panel.title, palette.text, weight=600),
        _text(_WIDTH, top + 16, panel.unit, palette.faint, anchor="end", size=12),
    ]
    for tick in ticks:
        x = _LABELS + place(tick)
        out.append(f'<path d="M{x:.1f} {top + 28:.1f}V{bottom:.1f}" stroke="{palette.grid}"/>')
        out.append(_text(x, bottom + 14, short(tick), palette.faint, anchor="middle", size=11))
    for number, row in enumerate(panel.rows):
        y = top + 34 + _ROW * number + _ROW / 2
        colour = palette.mark(row.role)
        weight = 600 if row.role == "ours" else 400
        out.append(_text(_LABELS - 10, y + 4, row.label, palette.text, anchor="end", weight=weight))
        x, low, high = (_LABELS + place(v) for v in (row.median, row.low, row.high))
        if panel.bars:
            size = f'width="{max(x - _LABELS, 1):.1f}" height="14" rx="2"'
            out.append(f'<rect x="{_LABELS}" y="{y - 7:.1f}" {size} fill="{colour}" fill-opacity="0.75"/>')
            stroke = f'stroke="{palette.text}" stroke-width="1.5" stroke-opacity="0.8"'
            out.append(f'<path d="M{low:.1f} {y:.1f}H{high:.1f}" {stroke}/>')
        else:
            stroke = f'stroke="{colour}" stroke-width="4" stroke-opacity="0.45"'
            out.append(f'<path d="M{low:.1f} {y:.1f}H{high:.1f}" {stroke}/>')
            out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.5" fill="{colour}"/>')
        out.append(_text(_LABELS + _PLOT + 12, y + 4, row.note, palette.text, size=12))
    return "".join(out)


def lines(title: str, unit: str, given: Sequence[Line], palette: Palette, describe: str) -> str:
    """Values in time, each line named at its end; from zero."""
    height = 220.0
    left, width = 60.0, 470.0
    most = max(value for line in given for value in line.values)
    ticks = _nice(0, most)
    top = 40.0
    out = [_text(0, 24, title, palette.text, weight=600)]

    def y_of(value: float) -> float:
        return top + height * (1 - value / ticks[-1])

    for tick in ticks:
        out.append(f'<path d="M{left} {y_of(tick):.1f}H{left + width}" stroke="{palette.grid}"/>')
        out.append(_text(left - 8, y_of(tick) + 4, short(tick), palette.faint, anchor="end", size=11))
    out.append(_text(left + width / 2, top + height + 22, unit, palette.faint, anchor="middle", size=11))
    ends = _apart([y_of(line.values[-1]) for line in given], 16.0)
    for line, end in zip(given, ends, strict=True):
        colour = palette.mark(line.role)
        step = width / max(len(line.values) - 1, 1)
        points = " ".join(f"{left + step * n:.1f},{y_of(value):.1f}" for n, value in enumerate(line.values))
        dash = "" if line.role != "other" else ' stroke-dasharray="5 3"'
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2.2"{dash}/>')
        out.append(
            _text(
                left + width + 10,
                end + 4,
                line.label,
                palette.text,
                size=12,
                weight=600 if line.role == "ours" else 400,
            )
        )
    return _document(out, _WIDTH, top + height + 34, palette, describe)


def short(value: float) -> str:
    """A number with three digits that count."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _axis(values: Sequence[float], *, bars: bool) -> tuple[Callable[[float], float], list[float]]:
    """From a value to pixels, and the ticks."""
    most = max(values)
    least = min(value for value in values if value > 0) if any(value > 0 for value in values) else 1.0
    if bars or most / least < _LOG_FROM:
        ticks = _nice(0, most)
        end = ticks[-1] or 1.0
        return (lambda value: max(0.0, value) / end * _PLOT), ticks
    margin = 0.04 * math.log10(most / least)
    low, high = math.log10(least) - margin, math.log10(most) + margin
    ticks = [
        tick
        for power in range(math.floor(low), math.ceil(high) + 1)
        for tick in (10.0**power, 2 * 10.0**power, 5 * 10.0**power)
        if low <= math.log10(tick) <= high
    ]
    if len(ticks) > 8:
        ticks = [tick for tick in ticks if math.isclose(math.log10(tick) % 1, 0, abs_tol=1e-9)]
    return (lambda value: (math.log10(max(value, least)) - low) / (high - low) * _PLOT), ticks


def _nice(low: float, high: float) -> list[float]:
    """Four to seven round values from ``low`` to at least ``high``."""
    span = (high - low) or 1.0
    step = 10.0 ** math.floor(math.log10(span))
    step = next(step * part for part in (0.2, 0.25, 0.5, 1, 2) if span / (step * part) <= 6)
    count = math.ceil(span / step - 1e-9)
    return [low + step * number for number in range(count + 1)]


def _apart(at: Sequence[float], distance: float) -> list[float]:
    """The same places, moved so that no two are nearer than ``distance``."""
    order = sorted(range(len(at)), key=lambda index: at[index])
    placed = list(at)
    for before, index in itertools.pairwise(order):
        placed[index] = max(placed[index], placed[before] + distance)
    return placed


def _text(x: float, y: float, text: str, fill: str, *, anchor: str = "start", size: int = 13, weight: int = 400) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )


def _document(parts: Sequence[str], width: float, height: float, palette: Palette, describe: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" font-family="{_FONT}"><title>{escape(describe)}</title>'
        f"{''.join(parts)}</svg>\n"
    )
