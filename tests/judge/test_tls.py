"""A host that cannot prove its name is not asked, and gets no key."""

from __future__ import annotations

import socket
import ssl
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from court import QUICK
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from steelyard.judge.ask import Panel, judge_run
from steelyard.judge.judge_input import JudgeInput


@pytest.fixture
def own_certificate(tmp_path: Path) -> Path:
    """Of a host that vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.TraditionalOpenSSL
    path = tmp_path / "host.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, form, plain)
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


def test_a_host_that_vouches_for_itself_gets_no_key(own_certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own_certificate)
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            raw, _ = server.accept()
            raw.settimeout(300)
            with raw:
                try:
                    with context.wrap_socket(raw, server_side=True) as stream:
                        heard.append(stream.recv(4096))
                except OSError:
                    pass  # the other side left, as it should

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        url = f"https://localhost:{server.getsockname()[1]}"
        panel = Panel.from_environment(("claude-a",), {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": url})
        assert isinstance(panel, Panel)
        once = replace(QUICK, attempts=1)
        judgement = judge_run(JudgeInput("Add."), replace(panel, retry_policy=once))
        thread.join(300)
    assert judgement.verdict == "UNPARSEABLE"
    assert "CERTIFICATE_VERIFY_FAILED" in judgement.why
    assert b"".join(heard) == b""
