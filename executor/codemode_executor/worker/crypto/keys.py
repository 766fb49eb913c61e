"""Asymmetric keys. A key travels with each operation as DER: PKCS #8 for a private one, SPKI for a public one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization as serial
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from ..host_calls import Operation
from .params import integer, parts, refusal, text, with_passphrase

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | Ed25519PrivateKey | X25519PrivateKey
PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | Ed25519PublicKey | X25519PublicKey

#: A longer modulus takes much more than a second to generate.
MAX_RSA_GENERATED_BITS = 4096
MIN_RSA_GENERATED_BITS = 1024
MAX_RSA_BITS = 16384
_MAX_DER = 64 * 1024
_MAX_PASSPHRASE = 1023
_MAX_SCALAR = 66
_KEPT = 16

CURVES: Mapping[str, Callable[[], ec.EllipticCurve]] = {
    "P-256": ec.SECP256R1,
    "P-384": ec.SECP384R1,
    "P-521": ec.SECP521R1,
}
_CURVE_NAMES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}


def curve(params: dict[str, Any]) -> ec.EllipticCurve:
    """The curve named ``{curve}``."""
    made = CURVES.get(text(params, "curve"))
    if made is None:
        raise refusal("Unrecognized or unimplemented EC curve requested.", "NotSupportedError")
    return made()


@lru_cache(_KEPT)
def private(der: bytes) -> PrivateKey:
    """A key that was checked when it came in."""
    try:
        key = serial.load_der_private_key(der, None, unsafe_skip_rsa_key_validation=True)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise refusal("the key cannot be read", "DataError") from None
    if not isinstance(key, PrivateKey):
        raise refusal("the key is of an unsupported kind", "NotSupportedError")
    return key


@lru_cache(_KEPT)
def public(der: bytes) -> PublicKey:
    """A key that was checked when it came in."""
    try:
        key = serial.load_der_public_key(der)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise refusal("the key cannot be read", "DataError") from None
    if not isinstance(key, PublicKey):
        raise refusal("the key is of an unsupported kind", "NotSupportedError")
    return key


def reset() -> None:
    """Forget the keys that were kept."""
    private.cache_clear()
    public.cache_clear()


def private_der(key: PrivateKey) -> bytes:
    return key.private_bytes(serial.Encoding.DER, serial.PrivateFormat.PKCS8, serial.NoEncryption())


def public_der(key: PublicKey) -> bytes:
    return key.public_bytes(serial.Encoding.DER, serial.PublicFormat.SubjectPublicKeyInfo)


def describe(key: PrivateKey | PublicKey) -> dict[str, object]:
    """What the guest has to know of a key."""
    secret = isinstance(key, PrivateKey)
    known: dict[str, object] = {"private": secret}
    match key:
        case rsa.RSAPrivateKey() | rsa.RSAPublicKey():
            numbers = key.public_key().public_numbers() if isinstance(key, rsa.RSAPrivateKey) else key.public_numbers()
            exponent = numbers.e.to_bytes(-(-numbers.e.bit_length() // 8), "big")
            known |= {"kind": "rsa", "bits": 8 * -(-key.key_size // 8), "exponent": exponent.hex()}
        case ec.EllipticCurvePrivateKey() | ec.EllipticCurvePublicKey():
            known |= {"kind": "ec", "curve": _CURVE_NAMES.get(key.curve.name, key.curve.name)}
        case Ed25519PrivateKey() | Ed25519PublicKey():
            known["kind"] = "ed25519"
        case _:
            known["kind"] = "x25519"
    return known


def answer(key: PrivateKey | PublicKey) -> tuple[object, bytes]:
    """A key as an operation answers it."""
    return describe(key), private_der(key) if isinstance(key, PrivateKey) else public_der(key)


def generate(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """A pair of ``{kind}``: rsa with ``{bits, exponent}``, ec with ``{curve}``, ed25519, x25519.

    The bytes are the private key and then the public one; the value says where it begins.
    """
    match text(params, "kind"):
        case "rsa":
            bits = integer(params, "bits", 1, 2**31 - 1)
            if not MIN_RSA_GENERATED_BITS <= bits <= MAX_RSA_GENERATED_BITS:
                raise refusal(
                    f"RSA keys of {MIN_RSA_GENERATED_BITS} to {MAX_RSA_GENERATED_BITS} bits can be generated here,"
                    f" not of {bits}"
                )
            if params.get("exponent") not in (3, 65537):
                raise refusal("the public exponent must be 3 or 65537")
            made: PrivateKey = rsa.generate_private_key(params["exponent"], bits)
        case "ec":
            made = ec.generate_private_key(curve(params))
        case "ed25519":
            made = Ed25519PrivateKey.generate()
        case "x25519":
            made = X25519PrivateKey.generate()
        case kind:
            raise refusal(f"there are no keys of kind {kind[:20]!r}", "TypeError")
    first = private_der(made)
    return len(first), first + public_der(made.public_key())


def read_pkcs8(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """A private key in DER, in PKCS #8 or what came before it."""
    (data,) = parts(buffers, 1)
    der = _whole(data, "PKCS8")
    try:
        key = serial.load_der_private_key(der, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise refusal("Invalid PKCS8 input.", "DataError") from None
    if not isinstance(key, PrivateKey):
        raise refusal("Invalid PKCS8 input.", "DataError")
    return answer(_bounded(key, "PKCS8"))


def read_spki(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """A public key in DER."""
    (data,) = parts(buffers, 1)
    der = _whole(data, "SPKI")
    try:
        key = serial.load_der_public_key(der)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise refusal("Invalid SPKI input.", "DataError") from None
    if not isinstance(key, PublicKey):
        raise refusal("Invalid SPKI input.", "DataError")
    return answer(_bounded(key, "SPKI"))


def read_raw(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """A public key of ``{kind}``: the point of an ec key on ``{curve}``, or 32 bytes."""
    (data,) = parts(buffers, 1)
    kind = text(params, "kind")
    if kind == "ec":
        return answer(_point(curve(params), data))
    if len(data) != 32 or kind not in ("ed25519", "x25519"):
        raise refusal("the key cannot be read", "DataError")
    read = Ed25519PublicKey if kind == "ed25519" else X25519PublicKey
    return answer(read.from_public_bytes(data))


def _point(on: ec.EllipticCurve, data: bytes) -> ec.EllipticCurvePublicKey:
    failed = "Failed to import raw EC key data"
    if not data:
        raise refusal(f"{failed}.", "DataError")
    size = -(-on.key_size // 8)
    if data[0] not in (2, 3, 4) or len(data) != (2 * size if data[0] == 4 else size) + 1:
        raise refusal(f"{failed}: Invalid point encoding..", "DataError")
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(on, data)
    except ValueError:
        raise refusal(f"{failed}: Point is not on curve..", "DataError") from None


def write_raw(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """A public key as ``read_raw`` takes it."""
    (der,) = parts(buffers, 1)
    key = public(der)
    if isinstance(key, rsa.RSAPublicKey):
        raise refusal("an RSA key has no raw form", "InvalidAccessError")
    if isinstance(key, ec.EllipticCurvePublicKey):
        return None, key.public_bytes(serial.Encoding.X962, serial.PublicFormat.UncompressedPoint)
    return None, key.public_bytes_raw()


def read_scalar(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """The private key on ``{curve}`` that is this number."""
    (data,) = parts(buffers, 1)
    on = curve(params)
    if len(data) > _MAX_SCALAR:
        raise refusal("Private key is not valid for specified curve.", "Error")
    try:
        return answer(ec.derive_private_key(int.from_bytes(data, "big"), on))
    except ValueError:
        raise refusal("Private key is not valid for specified curve.", "Error") from None


def to_public(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """The public key of a private one."""
    (der,) = parts(buffers, 1)
    return answer(private(der).public_key())


def read_node(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """A key as Node takes it: ``{format}`` pem or der, ``{private}`` which kind is wanted; perhaps a passphrase.

    A private key is taken where a public one is wanted: it holds one.
    """
    data, password = with_passphrase(buffers)
    pem = text(params, "format") == "pem"
    wanted = "private" if params.get("private") is True else "public"
    if len(data) > _MAX_DER:
        raise refusal(f"Failed to parse {wanted} key", "Error")
    key = None if wanted == "private" else _try_public(data, pem=pem)
    if key is None:
        key = _try_private(data, password, pem=pem)
    if key is None:
        raise refusal(f"Failed to parse {wanted} key", "Error")
    return answer(_bounded(key, "PKCS8"))


def _try_public(data: bytes, *, pem: bool) -> PublicKey | None:
    try:
        key = (serial.load_pem_public_key if pem else serial.load_der_public_key)(data)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, PublicKey) else None


def _try_private(data: bytes, password: bytes | None, *, pem: bool) -> PrivateKey | None:
    try:
        key = (serial.load_pem_private_key if pem else serial.load_der_private_key)(data, password)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, PrivateKey) else None


def write_node(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """The DER of a key, ``{private}`` or not, in another ``{type}``; with a passphrase, encrypted."""
    der, passphrase = with_passphrase(buffers)
    form = text(params, "type")
    if params.get("private") is not True:
        return None, _pkcs1(public(der))
    if passphrase is None:
        lock: serial.KeySerializationEncryption = serial.NoEncryption()
    elif 0 < len(passphrase) <= _MAX_PASSPHRASE:
        lock = serial.BestAvailableEncryption(passphrase)
    else:
        raise refusal(f"a passphrase has 1 to {_MAX_PASSPHRASE} bytes here", "RangeError")
    key = private(der)
    if form != "pkcs8" and isinstance(key, (Ed25519PrivateKey, X25519PrivateKey)):
        raise refusal("a key of this kind is written as pkcs8 only", "Error")
    if form != "pkcs8" and passphrase is not None:
        raise refusal("only pkcs8 is written with a passphrase", "Error")
    shape = serial.PrivateFormat.PKCS8 if form == "pkcs8" else serial.PrivateFormat.TraditionalOpenSSL
    return None, key.private_bytes(serial.Encoding.DER, shape, lock)


def _pkcs1(key: PublicKey) -> bytes:
    if not isinstance(key, rsa.RSAPublicKey):
        raise refusal("only an RSA key is written as pkcs1", "Error")
    return key.public_bytes(serial.Encoding.DER, serial.PublicFormat.PKCS1)


def _bounded(key: PrivateKey | PublicKey, form: str) -> PrivateKey | PublicKey:
    if isinstance(key, (rsa.RSAPrivateKey, rsa.RSAPublicKey)) and key.key_size > MAX_RSA_BITS:
        raise refusal(f"Invalid {form} input.", "DataError")
    if isinstance(key, (ec.EllipticCurvePrivateKey, ec.EllipticCurvePublicKey)) and key.curve.name not in _CURVE_NAMES:
        raise refusal(f"Invalid {form} input.", "DataError")
    return key


def _whole(data: bytes, form: str) -> bytes:
    """The structure that ``data`` is. A refusal says how much follows it."""
    length = _der_length(data[:8])
    if length is None or length > len(data) or length > _MAX_DER:
        raise refusal(f"Invalid {form} input.", "DataError")
    if length < len(data):
        read_pkcs8({}, [data[:length]]) if form == "PKCS8" else read_spki({}, [data[:length]])
        raise refusal(f"Invalid {len(data) - length} trailing bytes after {form} input.", "DataError")
    return data


def _der_length(head: bytes) -> int | None:
    """The length of the sequence that begins so, its header included."""
    if len(head) < 2 or head[0] != 0x30:
        return None
    if head[1] < 0x80:
        return 2 + head[1]
    size = head[1] & 0x7F
    if not 1 <= size <= 4 or len(head) < 2 + size:
        return None
    return 2 + size + int.from_bytes(head[2 : 2 + size], "big")


OPERATIONS: Mapping[str, Operation] = {
    "crypto.key.generate": generate,
    "crypto.key.pkcs8": read_pkcs8,
    "crypto.key.spki": read_spki,
    "crypto.key.raw": read_raw,
    "crypto.key.to_raw": write_raw,
    "crypto.key.scalar": read_scalar,
    "crypto.key.public": to_public,
    "crypto.key.read": read_node,
    "crypto.key.write": write_node,
}
