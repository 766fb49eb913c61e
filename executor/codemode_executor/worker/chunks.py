"""The pieces of the platform that are evaluated before a program that names them."""

from __future__ import annotations

from collections.abc import Sequence

from . import assets

#: Script name of the platform in a stack.
SOURCE_NAME = "platform:web.js"
_REALM = "realm"


class Chunks:
    """All built chunks, by name. Loaded in the zygote, whose workers may open no file."""

    def __init__(self) -> None:
        self._sources = assets.load_all("chunks")

    def source(self, name: str) -> bytes:
        """One chunk alone, for those who measure.

        Raises:
            KeyError: there is no such chunk.
        """
        return self._sources[name]

    def script(self, names: Sequence[str]) -> bytes:
        """One script that installs the chunks ``names``, in this order, after what they all stand on.

        Raises:
            KeyError: there is no such chunk.
        """
        return b"\n".join(
            [
                *(self._sources[name] for name in dict.fromkeys((_REALM, *names))),
                b"//# sourceURL=" + SOURCE_NAME.encode(),
            ]
        )
