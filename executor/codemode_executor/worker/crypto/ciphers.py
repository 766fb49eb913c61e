"""AES and what else of symmetric ciphers Node's module names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.decrepit.ciphers.modes import OFB
from cryptography.hazmat.primitives import keywrap
from cryptography.hazmat.primitives.ciphers import (
    AEADDecryptionContext,
    AEADEncryptionContext,
    Cipher,
    CipherContext,
    modes,
)
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ModeWithInitializationVector, ModeWithNonce

from ..host_calls import Operation
from .params import integer, parts, refusal, text
from .sessions import Sessions

_BLOCK = 16
_AES_KEYS = (16, 24, 32)
_TAG_BITS = (32, 64, 96, 104, 112, 120, 128)


class DecryptionFailed(Exception):
    """The text cannot be decrypted. ``written``: how much had been before that was noticed."""

    def __init__(self, written: int) -> None:
        super().__init__("decryption failed")
        self.written = written


# --- one-shot: Web Crypto ---------------------------------------------------------------------------------------------


def encrypt(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """``{mode}``, with ``{tag}`` bits for gcm and ``{counter}`` bits for ctr: key, iv, text and (gcm) more data."""
    mode = text(params, "mode")
    if mode == "gcm":
        key, iv, data, more = parts(buffers, 4)
        tag_bits = _tag_bits(params)
        cipher = Cipher(_aes(key), _gcm(iv)).encryptor()
        cipher.authenticate_additional_data(more)
        sealed = cipher.update(data) + cipher.finalize()
        return None, sealed + cipher.tag[: tag_bits // 8]
    key, iv, data = parts(buffers, 3)
    if mode == "ctr":
        return None, _count(params, key, iv, data)
    if mode == "cbc":
        cipher = Cipher(_aes(key), _cbc(iv)).encryptor()
        return None, cipher.update(_pad(data)) + cipher.finalize()
    raise refusal(f"there is no mode {mode[:20]!r}", "TypeError")


def decrypt(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """As ``encrypt``, the other way; the value is what was written before it failed, null if it did not."""
    mode = text(params, "mode")
    try:
        if mode == "gcm":
            key, iv, data, more = parts(buffers, 4)
            return None, _open_gcm(_tag_bits(params), key, iv, data, more)
        key, iv, data = parts(buffers, 3)
        if mode == "ctr":
            return None, _count(params, key, iv, data)
        if mode == "cbc":
            return None, _open_cbc(key, iv, data)
    except DecryptionFailed as failed:
        return failed.written, b""
    raise refusal(f"there is no mode {mode[:20]!r}", "TypeError")


def wrap(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """AES key wrapping of RFC 3394: key, what is wrapped."""
    key, data = parts(buffers, 2)
    if len(key) not in _AES_KEYS or len(data) < 16 or len(data) % 8:
        raise refusal("AES-KW key wrapping failed.")
    return None, keywrap.aes_key_wrap(key, data)


def unwrap(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """What ``wrap`` wrapped."""
    key, data = parts(buffers, 2)
    if len(key) not in _AES_KEYS or len(data) < 24 or len(data) % 8:
        raise refusal("AES-KW key unwrapping failed.")
    try:
        return None, keywrap.aes_key_unwrap(key, data)
    except keywrap.InvalidUnwrap:
        raise refusal("AES-KW key unwrapping failed.") from None


def _aes(key: bytes) -> AES:
    if len(key) not in _AES_KEYS:
        raise refusal("Invalid key length", "Error")
    return AES(key)


def _cbc(iv: bytes) -> modes.CBC:
    if len(iv) != _BLOCK:
        raise refusal("Invalid initialization vector", "Error")
    return modes.CBC(iv)


def _tag_bits(params: dict[str, Any]) -> int:
    bits = integer(params, "tag", 0, 128)
    if bits not in _TAG_BITS:
        raise refusal(f"Invalid AES-GCM tag length {bits}.")
    return bits


_MIN_GCM_IV = 8
_MAX_GCM_IV = 128


def _gcm(iv: bytes, tag: bytes | None = None) -> modes.GCM:
    if not _MIN_GCM_IV <= len(iv) <= _MAX_GCM_IV:
        raise refusal(
            f"AES-GCM takes an initialization vector of {_MIN_GCM_IV} to {_MAX_GCM_IV} bytes here, not {len(iv)}"
        )
    return modes.GCM(iv, tag, min_tag_length=4)


def _open_gcm(tag_bits: int, key: bytes, iv: bytes, data: bytes, more: bytes) -> bytes:
    at = len(data) - tag_bits // 8
    if at < 0:
        raise refusal("the text is shorter than its tag")
    cipher = Cipher(_aes(key), _gcm(iv, data[at:])).decryptor()
    cipher.authenticate_additional_data(more)
    plain = cipher.update(data[:at])
    try:
        return plain + cipher.finalize()
    except InvalidTag:
        raise DecryptionFailed(at) from None


def _pad(data: bytes) -> bytes:
    missing = _BLOCK - len(data) % _BLOCK
    return data + bytes([missing]) * missing


def _unpad(block: bytes) -> bytes | None:
    """Without its padding; ``None`` if that is wrong."""
    missing = block[-1] if len(block) == _BLOCK else 0
    if not 1 <= missing <= _BLOCK or block[-missing:] != bytes([missing]) * missing:
        return None
    return block[:-missing]


def _open_cbc(key: bytes, iv: bytes, data: bytes) -> bytes:
    cipher = Cipher(_aes(key), _cbc(iv)).decryptor()
    whole = len(data) - len(data) % _BLOCK
    plain = cipher.update(data[:whole])
    # The last block is held back until the padding is known.
    held = _BLOCK if whole == len(data) and whole else 0
    written = whole - held
    rest = _unpad(plain[written:]) if held else None
    if rest is None:
        raise DecryptionFailed(written)
    return plain[:written] + rest


def _count(params: dict[str, Any], key: bytes, iv: bytes, data: bytes) -> bytes:
    """AES-CTR whose counter is the last ``{counter}`` bits of the block: they wrap, the rest of it stays."""
    if len(iv) != _BLOCK:
        raise refusal("Invalid initialization vector", "Error")
    bits = integer(params, "counter", 1, 128)
    blocks = -(-len(data) // _BLOCK)
    if blocks > 1 << bits:
        raise refusal("Counter block values will repeat.")
    start = int.from_bytes(iv, "big")
    until_wrap = ((1 << bits) - (start & ((1 << bits) - 1))) * _BLOCK
    first = _counted(key, iv, data[:until_wrap])
    if until_wrap >= len(data):
        return first
    wrapped = start >> bits << bits
    return first + _counted(key, wrapped.to_bytes(_BLOCK, "big"), data[until_wrap:])


def _counted(key: bytes, iv: bytes, data: bytes) -> bytes:
    cipher = Cipher(_aes(key), modes.CTR(iv)).encryptor()
    return cipher.update(data) + cipher.finalize()


# --- piece by piece: Node ---------------------------------------------------------------------------------------------


@dataclass
class _Stream:
    """A cipher that is being fed.

    Attributes:
        context: of the library.
        decrypting: which way.
        padded: it is a block cipher whose padding is on.
        held: what is not yet a whole block or, when decrypting with padding, may be the last one.
        tag: what an authenticated text is checked against.
    """

    context: CipherContext
    decrypting: bool
    mode: str
    padded: bool
    held: bytes = b""
    tag: bytes | None = None
    fed: bool = False


_streams: Sessions[_Stream] = Sessions()
_NAME = re.compile(r"aes-(128|192|256)-(cbc|ctr|ecb|ofb|gcm)")
_PLAIN_MODES: Mapping[str, Callable[[bytes], ModeWithInitializationVector | ModeWithNonce | modes.ECB]] = {
    "cbc": modes.CBC,
    "ctr": modes.CTR,
    "ecb": lambda _: modes.ECB(),
    "ofb": OFB,
}
_FAILED = "Authentication failed"


def start(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """Open ``{cipher, decrypt}``: key, iv. Answers the handle."""
    key, iv = parts(buffers, 2)
    name = text(params, "cipher")
    found = _NAME.fullmatch(name)
    if found is None:
        raise refusal(f"Unknown or unsupported cipher: {name[:100]}", "Error")
    mode = found[2]
    if len(key) * 8 != int(found[1]):
        raise refusal("Invalid key length", "Error")
    if not iv if mode == "gcm" else mode != "ecb" and len(iv) != _BLOCK:
        raise refusal("Invalid initialization vector", "Error")
    decrypting = params.get("decrypt") is True
    context = _authenticated(key, iv, decrypting) if mode == "gcm" else _plain(mode, key, iv, decrypting)
    return _streams.add(_Stream(context, decrypting, mode, padded=mode in ("cbc", "ecb"))), b""


def _authenticated(key: bytes, iv: bytes, decrypting: bool) -> CipherContext:
    cipher = Cipher(AES(key), _gcm(iv))
    return cipher.decryptor() if decrypting else cipher.encryptor()


def _plain(mode: str, key: bytes, iv: bytes, decrypting: bool) -> CipherContext:
    cipher = Cipher(AES(key), _PLAIN_MODES[mode](iv))
    return cipher.decryptor() if decrypting else cipher.encryptor()


def authenticate(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """Data that ``{handle}`` authenticates without encrypting it."""
    stream = _streams.get(_handle(params))
    context = stream.context
    if stream.fed or not isinstance(context, (AEADEncryptionContext, AEADDecryptionContext)):
        raise refusal("Failed to set AAD", "Error")
    context.authenticate_additional_data(parts(buffers, 1)[0])
    return None, b""


def set_tag(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """The tag that the text of ``{handle}`` has to have."""
    stream = _streams.get(_handle(params))
    (tag,) = parts(buffers, 1)
    if not stream.decrypting or stream.mode != "gcm" or not 4 <= len(tag) <= _BLOCK:
        raise refusal("Invalid authentication tag length", "Error")
    stream.tag = tag
    return None, b""


def set_padding(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """Whether ``{handle}`` pads: ``{on}``."""
    stream = _streams.get(_handle(params))
    stream.padded = params.get("on") is True and stream.mode in ("cbc", "ecb")
    return None, b""


def update(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """Feed ``{handle}``; what can be written is answered."""
    stream = _streams.get(_handle(params))
    stream.fed = True
    (data,) = parts(buffers, 1)
    if stream.mode not in ("cbc", "ecb"):
        return None, stream.context.update(data)
    data = stream.held + data
    whole = len(data) - len(data) % _BLOCK
    if stream.decrypting and stream.padded and whole == len(data) and whole:
        whole -= _BLOCK
    stream.held = data[whole:]
    return None, stream.context.update(data[:whole])


def finish(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """The rest of ``{handle}``, which is closed. The value is the tag of an authenticated text, in hexadecimal."""
    stream = _streams.take(_handle(params))
    context = stream.context
    if stream.mode == "gcm":
        return _finish_authenticated(stream)
    last = stream.held
    if stream.padded and not stream.decrypting:
        last = _pad(last)
    if len(last) % _BLOCK:
        raise refusal(_FAILED, "Error")
    written = context.update(last) + context.finalize()
    if stream.padded and stream.decrypting:
        rest = _unpad(written)
        if rest is None:
            raise refusal(_FAILED, "Error")
        return None, rest
    return None, written


def _finish_authenticated(stream: _Stream) -> tuple[object, bytes]:
    context = stream.context
    if isinstance(context, AEADEncryptionContext):
        rest = context.finalize()
        return context.tag.hex(), rest
    if stream.tag is None or not isinstance(context, AEADDecryptionContext):
        raise refusal(_FAILED, "Error")
    try:
        return None, context.finalize_with_tag(stream.tag)
    except InvalidTag:
        raise refusal(_FAILED, "Error") from None


def reset() -> None:
    """Close everything."""
    _streams.clear()


def _handle(params: dict[str, Any]) -> int:
    return integer(params, "handle", 1, 2**53)


OPERATIONS: Mapping[str, Operation] = {
    "crypto.encrypt": encrypt,
    "crypto.decrypt": decrypt,
    "crypto.wrap": wrap,
    "crypto.unwrap": unwrap,
    "crypto.cipher.start": start,
    "crypto.cipher.authenticate": authenticate,
    "crypto.cipher.tag": set_tag,
    "crypto.cipher.padding": set_padding,
    "crypto.cipher.update": update,
    "crypto.cipher.finish": finish,
}
