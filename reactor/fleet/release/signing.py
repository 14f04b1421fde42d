"""Signs by the system's ``ssh-keygen``, and so with its agents and hardware keys. Blocks."""

from __future__ import annotations

import os
import subprocess

from reactor.fleet.release.sshsig import SignatureError, parse_signatures

_PATIENCE = 300.0
"""Seconds that people have to enter a passphrase or touch a key."""


def sign(data: bytes, key_path: str, namespace: str) -> bytes:
    """Return an armored signature of ``data``. ``key_path``: a private key, or the public one of a key in the agent.

    ssh-keygen asks for a passphrase on the terminal. Raises SignatureError.
    """
    command = ["ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", os.path.abspath(key_path)]
    try:
        done = subprocess.run(command, input=data, capture_output=True, check=False, timeout=_PATIENCE)
    except FileNotFoundError as error:
        raise SignatureError("ssh-keygen is not installed here", "apt install openssh-client") from error
    except subprocess.TimeoutExpired as error:
        raise SignatureError(f"ssh-keygen did not sign within {_PATIENCE:.0f} s") from error
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.returncode}"]
        raise SignatureError(f"ssh-keygen can't sign with {key_path}: {words[-1]}")
    parse_signatures(done.stdout)
    return done.stdout
