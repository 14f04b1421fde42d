"""Keys of people, made by the real ssh-keygen, and their line in `allowed_signers`."""

import subprocess

from reactor.fleet.release.signers import parse_signers


def new_key(directory, name, kind="ed25519", passphrase=""):
    """Make a key; return its path."""
    path = directory / name
    command = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", name, "-f", str(path)]
    subprocess.run(command, check=True)
    return str(path)


def public(path):
    with open(f"{path}.pub") as file:
        return " ".join(file.read().split()[:2])


def signers_of(*lines):
    return parse_signers("\n".join(lines), "allowed_signers")
