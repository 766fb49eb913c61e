"""Names of providers and tools."""

from __future__ import annotations

import re

# The words that a strict function does not accept as the name of a const.
_KEYWORDS = frozenset(
    "arguments await break case catch class const continue debugger default delete do else enum eval export extends"  # noqa: SIM905
    " false finally for function if implements import in instanceof interface let new null package private protected"
    " public return static super switch this throw true try typeof var void while with yield".split()
)

# What upstream marks by an underscore besides: words of older editions, and one that is no word but a value.
_RESERVED = _KEYWORDS | frozenset(
    "abstract boolean byte char double final float goto int long native short synchronized throws transient"  # noqa: SIM905
    " undefined volatile".split()
)

# JavaScript's \s, which is not Python's.
_SEPARATOR = re.compile("[-.\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]")
_UNUSABLE = re.compile("[^a-zA-Z0-9_$]")
_IDENTIFIER = re.compile(r"[a-zA-Z_$][a-zA-Z0-9_$]*\Z")


def sanitize_tool_name(name: str) -> str:
    """The identifier under which a program can call the tool ``name``.

    Mirrors upstream's ``sanitizeToolName``: hyphens, dots and white space become underscores, what else cannot stand in
    an identifier is dropped, a leading digit and reserved words are marked by an underscore.
    """
    sanitized = _UNUSABLE.sub("", _SEPARATOR.sub("_", name))
    if not sanitized:
        return "_"
    if sanitized[0].isdigit():
        sanitized = "_" + sanitized
    return sanitized + "_" if sanitized in _RESERVED else sanitized


def is_identifier(name: object) -> bool:
    """``name`` is an ASCII identifier, which is what upstream asks of a provider's name."""
    return isinstance(name, str) and len(name) <= 256 and _IDENTIFIER.match(name) is not None


def is_reserved_word(name: str) -> bool:
    """JavaScript would not accept ``name`` as the name of a constant in a strict function."""
    return name in _KEYWORDS
