"""The configuration that this machine gives to a setup with network -> the registries and mirrors it used, for the manifest.

    {"variables": {"PIP_INDEX_URL": "https://mirror.example/simple"},
     "files": [{"path": "/etc/pip.conf", "sha256": "<64 hex>", "urls": ["https://mirror.example/simple"]}]}

Credentials are left out: user and password of an address, and the values of variables that are named like a secret.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CONFIGURATION_FILES = ("/etc/pip.conf", "/etc/npmrc")
MOST_FILE_BYTES = 1 << 20
MOST_CHARS = 500
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s\"'<>]+", re.IGNORECASE)
_CREDENTIALS = re.compile(r"://[^/@\s]*@")
_SECRET = re.compile(r"TOKEN|PASSWORD|PASSWD|SECRET|AUTH|KEY|CREDENTIAL", re.IGNORECASE)


def setup_configuration(variables: Mapping[str, str], host_files: Mapping[str, Path]) -> dict[str, Any]:
    files = [host_files[name] for name in CONFIGURATION_FILES if name in host_files]
    return {
        "variables": {name: _public(name, value) for name, value in sorted(variables.items())},
        "files": [_describe(path) for path in files],
    }


def without_credentials(text: str) -> str:
    return _CREDENTIALS.sub("://[redacted]@", text)[:MOST_CHARS]


def _public(name: str, value: str) -> str:
    return "[redacted]" if _SECRET.search(name) else without_credentials(value)


def _describe(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_FILE_BYTES)
    except OSError:
        return {"path": str(path), "sha256": None, "urls": None}
    urls = [without_credentials(url) for url in _URL.findall(data.decode(errors="replace"))]
    return {
        "path": str(path),
        "sha256": hashlib.sha256(data).hexdigest(),
        "urls": list(dict.fromkeys(urls))[:100],
    }
