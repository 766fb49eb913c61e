"""JSON Web Keys of asymmetric keys. What the guest's own checks (kty, use, key_ops, alg) allow arrives here."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from ..host_calls import Operation
from . import keys
from .params import parts, record, refusal, text

_MAX_FIELD = 4096
_RSA = "Invalid RSA key in JSON Web Key; "
_EC = "Invalid EC key in JSON Web Key"
_CRT = {
    "p": "First Prime Factor",
    "q": "Second Prime Factor",
    "dp": "First Factor CRT Exponent",
    "dq": "Second Factor CRT Exponent",
    "qi": "First CRT Coefficient",
}


def read(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """The key of ``{kind, jwk}``, of kind ec with ``{curve}``."""
    jwk = record(params, "jwk")
    match text(params, "kind"):
        case "rsa":
            return keys.answer(_rsa(jwk))
        case "ec":
            return keys.answer(_elliptic(keys.curve(params), jwk))
        case "ed25519":
            return keys.answer(_edwards("Ed25519", jwk))
        case "x25519":
            return keys.answer(_edwards("X25519", jwk))
        case kind:
            raise refusal(f"there are no keys of kind {kind[:20]!r}", "TypeError")


def write(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """The members of a key's JSON Web Key that are numbers; ``{private}`` says which form the DER has."""
    (der,) = parts(buffers, 1)
    key = keys.private(der) if params.get("private") is True else keys.public(der)
    match key:
        case rsa.RSAPrivateKey():
            secret = key.private_numbers()
            numbers = secret.public_numbers
            return {
                "n": _number(numbers.n),
                "e": _number(numbers.e),
                "d": _number(secret.d),
                "p": _number(secret.p),
                "q": _number(secret.q),
                "dp": _number(secret.dmp1),
                "dq": _number(secret.dmq1),
                "qi": _number(secret.iqmp),
            }, b""
        case rsa.RSAPublicKey():
            numbers = key.public_numbers()
            return {"n": _number(numbers.n), "e": _number(numbers.e)}, b""
        case ec.EllipticCurvePrivateKey():
            size = -(-key.key_size // 8)
            written = _coordinates(key.public_key())
            return written | {"d": _encode(key.private_numbers().private_value.to_bytes(size, "big"))}, b""
        case ec.EllipticCurvePublicKey():
            return _coordinates(key), b""
        case Ed25519PrivateKey() | X25519PrivateKey():
            open_half = key.public_key().public_bytes_raw()
            return {"x": _encode(open_half), "d": _encode(key.private_bytes_raw())}, b""
        case _:
            return {"x": _encode(key.public_bytes_raw())}, b""


def _coordinates(key: ec.EllipticCurvePublicKey) -> dict[str, str]:
    size = -(-key.key_size // 8)
    numbers = key.public_numbers()
    return {"x": _encode(numbers.x.to_bytes(size, "big")), "y": _encode(numbers.y.to_bytes(size, "big"))}


def _rsa(jwk: dict[str, object]) -> keys.PrivateKey | keys.PublicKey:
    n = _int(_field(jwk, "n", _RSA + 'missing or invalid Modulus parameter ("n").'))
    e = _int(_field(jwk, "e", _RSA + 'missing or invalid Exponent parameter ("e").'))
    bits = 8 * -(-n.bit_length() // 8)
    if not 256 <= bits <= keys.MAX_RSA_BITS:
        raise refusal(f"The modulus length must be a multiple of 8 and between 256 and 16k, but {bits} was requested.")
    numbers = rsa.RSAPublicNumbers(e, n)
    try:
        if "d" not in jwk:
            return numbers.public_key()
        d = _int(_field(jwk, "d", _RSA + 'missing or invalid Private Exponent parameter ("d").'))
        present = [name for name in _CRT if name in jwk]
        if not present:
            p, q = rsa.rsa_recover_prime_factors(n, e, d)
            crt = [p, q, rsa.rsa_crt_dmp1(d, p), rsa.rsa_crt_dmq1(d, q), rsa.rsa_crt_iqmp(p, q)]
        elif len(present) < len(_CRT):
            raise refusal(
                "Invalid RSA private key in JSON Web Key; if one Prime Factor or CRT Exponent/Coefficient parameter is"
                ' present, then they must all be present ("p", "q", "dp", "dq", "qi").',
                "DataError",
            )
        else:
            crt = [
                _int(_field(jwk, name, f'{_RSA}invalid {what} parameter ("{name}").')) for name, what in _CRT.items()
            ]
        p, q, dp, dq, qi = crt
        return rsa.RSAPrivateNumbers(p, q, d, dp, dq, qi, numbers).private_key()
    except ValueError:
        raise refusal(_RSA + "its numbers do not belong together.", "DataError") from None


def _elliptic(on: ec.EllipticCurve, jwk: dict[str, object]) -> keys.PrivateKey | keys.PublicKey:
    x = _int(_field(jwk, "x", f'{_EC}; missing "x".'))
    y = _int(_field(jwk, "y", f'{_EC}; missing "y".'))
    try:
        key = ec.EllipticCurvePublicNumbers(x, y, on).public_key()
    except ValueError:
        raise refusal(
            'Invalid EC key; public key coordinates "x" and "y" are invalid: Point is not on curve..'
        ) from None
    if "d" not in jwk:
        return key
    d = _int(_field(jwk, "d", f'{_EC}; missing or invalid private key component ("d").'))
    try:
        secret = ec.derive_private_key(d, on)
    except ValueError:
        raise refusal('Invalid EC key; private key component "d" is invalid.') from None
    if secret.public_key() != key:
        raise refusal(f"{_EC}.", "DataError")
    return secret


def _edwards(name: str, jwk: dict[str, object]) -> keys.PrivateKey | keys.PublicKey:
    x = _field(jwk, "x", f'Invalid {name} key in JSON WebKey; missing or invalid public key component ("x").')
    if len(x) != 32:
        raise refusal(f"Invalid length {len(x)} for public key", "DataError")
    if "d" not in jwk:
        return (Ed25519PublicKey if name == "Ed25519" else X25519PublicKey).from_public_bytes(x)
    d = _field(jwk, "d", f'Invalid {name} key in JSON Web Key; missing or invalid private key component ("d").')
    if len(d) != 32:
        raise refusal(f"Invalid length {len(d)} for private key", "DataError")
    return (Ed25519PrivateKey if name == "Ed25519" else X25519PrivateKey).from_private_bytes(d)


def _field(jwk: dict[str, object], name: str, otherwise: str) -> bytes:
    value = jwk.get(name)
    if not isinstance(value, str) or len(value) > _MAX_FIELD:
        raise refusal(otherwise, "DataError")
    padded = value.rstrip("=").translate({ord("-"): "+", ord("_"): "/"})
    try:
        return base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise refusal(otherwise, "DataError") from None


def _int(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _number(value: int) -> str:
    return _encode(value.to_bytes(max(1, -(-value.bit_length() // 8)), "big"))


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


OPERATIONS: Mapping[str, Operation] = {"crypto.key.jwk": read, "crypto.key.to_jwk": write}
