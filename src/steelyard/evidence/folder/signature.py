"""The canonical bytes of a seal or a grading + an ed25519 key in a PEM file -> a signature, and back to yes or no.

`cryptography` loads when the first key is read: it takes 15 ms, and few runs are signed.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.errors import OperatorFault

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


def sign(message: bytes, private_key: Path) -> dict[str, str]:
    key = _private(private_key)
    return {
        "algorithm": "ed25519",
        "public_key": base64.b64encode(key.public_key().public_bytes_raw()).decode(),
        "value": base64.b64encode(key.sign(message)).decode(),
    }


def signature_holds(message: bytes, signature: Mapping[str, Any], public_key: Path | None) -> bool:
    """Whether `signature` is over `message`: by `public_key`, or without one by the key it names itself."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415  # see above
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

    key = None if public_key is None else _public(public_key)
    try:
        if key is None:
            key = Ed25519PublicKey.from_public_bytes(base64.b64decode(signature["public_key"]))
        key.verify(base64.b64decode(signature["value"]), message)
    except (InvalidSignature, KeyError, TypeError, ValueError):
        return False
    return True


def signs_as(signature: Mapping[str, Any], private_key: Path) -> bool:
    """Whether that key made this signature."""
    public = base64.b64encode(_private(private_key).public_key().public_bytes_raw()).decode()
    return signature.get("public_key") == public


def check_private_key(path: Path) -> None:
    """Refuse a key that could not sign, before there is anything to be signed."""
    _private(path)


def _private(path: Path) -> Ed25519PrivateKey:
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415  # see above
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except FileNotFoundError as error:
        raise OperatorFault(
            f"{path}: there is no such file; `openssl genpkey -algorithm ed25519 -out {shlex.quote(str(path))}` makes a key"
        ) from error
    except (OSError, TypeError, ValueError, UnsupportedAlgorithm) as error:
        raise OperatorFault(
            f"{path} is not a readable private key in PEM form, without a password"
        ) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise OperatorFault(f"{path} is not an ed25519 key")
    return key


def check_public_key(path: Path) -> None:
    """Raises OperatorFault for a file that is none: a record that is not signed would hide the mistake."""
    _public(path)


def _public(path: Path) -> Ed25519PublicKey:
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415  # see above
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415

    try:
        key = load_pem_public_key(path.read_bytes())
    except (OSError, ValueError, UnsupportedAlgorithm) as error:
        raise OperatorFault(f"{path} is not a readable public key in PEM form") from error
    if not isinstance(key, Ed25519PublicKey):
        raise OperatorFault(f"{path} is not an ed25519 key")
    return key
