"""The secrets of one control plane: made anew for each, worthless beyond it."""

import base64
import json
import secrets
from pathlib import Path

P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
# SEC 1's ECPrivateKey without the optional public key: version 1, the secret, the curve's OID.
EC_KEY_BEFORE_SECRET = bytes.fromhex("30310201010420")
EC_KEY_AFTER_SECRET = bytes.fromhex("a00a06082a8648ce3d030107")


def ec_private_key_pem() -> str:
    """Return a new P-256 key for signing service account tokens.

    Made by hand because not every machine has openssl or a Python package for it.
    """
    secret = (secrets.randbelow(P256_ORDER - 1) + 1).to_bytes(32, "big")
    der = EC_KEY_BEFORE_SECRET + secret + EC_KEY_AFTER_SECRET
    body = base64.encodebytes(der).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{body}-----END EC PRIVATE KEY-----\n"


def token_file_line(token: str) -> str:
    """Return the line of a token file that makes its bearer the cluster's admin."""
    return f"{token},plimsoll-admin,plimsoll-admin,system:masters\n"


def kubeconfig(*, server: str, certificate: Path | None, token: str) -> str:
    """Return a kubeconfig (JSON is YAML) that trusts only `certificate`; None: without TLS.

    It names the file: some clients write data embedded in a kubeconfig to files of their own, and
    leave those behind when they are killed.
    """
    name = "plimsoll"
    trust = {} if certificate is None else {"certificate-authority": str(certificate)}
    cluster = {"server": server, **trust}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return json.dumps(config, indent=2)


def write_secret(path: Path, text: str) -> Path:
    """Write a file that only we can read, and return its path."""
    path.touch(mode=0o600)
    path.write_text(text)
    return path
