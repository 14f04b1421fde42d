"""Cells of the kinds certificate and ca_certificate: what openssl says of the pair, and what the host trusts."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from cell import Cell, differs, first, tree
from programs import must, said

HOST = "app.example.com"
PAIRS: dict[str, dict[str, object]] = {
    "a pair": {"names": [HOST]},
    "of two names": {"names": [HOST, "www.example.com"], "key_type": "ed25519"},
    "a request": {"names": [HOST], "only_request": True},
    "absent": {"ensure": "absent"},
}
PAIR_STATES = {
    "nothing": "",
    "an empty directory": "mkdir",
    "another directory": "mkdir mine",
    "a file": "file",
    "no directory above": "orphan",
}
PAIR_DRIFTS = {
    "the key spoilt": 'echo spoilt >"$0"/current/key.pem',
    "the key readable": 'chmod 0644 "$0"/current/key.pem',
    "the certificate gone": 'rm -f "$0"/current/cert.pem "$0"/current/request.pem',
    "all gone": 'rm -rf "$0"',
    "not current": 'rm "$0"/current',
}
STORE = Path("/usr/local/share/ca-certificates")
ANCHOR, BUNDLE = STORE / "matrix.crt", Path("/etc/ssl/certs/ca-certificates.crt")
ANCHORS = {"nothing": "", "the same": "0", "another": "1", "no certificate": "x"}
TRUST: dict[str, dict[str, object]] = {
    "trusted": {"content": "{0}"},
    "of a file": {"source": "{place}/ca.pem"},
    "of no file": {"source": "{place}/none.pem"},
    "absent": {"ensure": "absent"},
}


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift from what was reached."""
    for wanted, properties in PAIRS.items():
        for state, acts in PAIR_STATES.items():
            yield _pair_cell(wanted, properties, state, acts)
        for drift, script in PAIR_DRIFTS.items() if wanted != "absent" else ():
            yield _pair_cell(wanted, properties, drift, "", script)
    for wanted, properties in TRUST.items():
        for state, mark in ANCHORS.items():
            yield _trust_cell(wanted, properties, state, mark)


def _pair_cell(wanted: str, properties: dict[str, object], state: str, acts: str, drift: str = "") -> Cell:
    below = "none/app" if acts == "orphan" else "app"

    def resources(place: Path) -> list[dict[str, object]]:
        return [{"certificate": [{str(place / below): properties}]}]

    fails = acts in ("mkdir mine", "file") or (acts == "orphan" and wanted != "absent")
    spoil = (lambda place: must("sh", "-c", drift, place / "app")) if drift else None
    judge = partial(_wrong_pair, wanted, below)
    return Cell(
        "certificate", f"{state} / {wanted}", resources, judge, partial(_make_pair, acts), spoil, fails
    )


def _make_pair(acts: str, place: Path) -> None:
    for act in acts.split():
        match act:
            case "mkdir":
                (place / "app").mkdir()
            case "mine":
                (place / "app/mine").write_text("mine")
            case "file":
                (place / "app").write_text("mine")


def _wrong_pair(wanted: str, below: str, place: Path) -> str | None:
    pair = place / below
    if wanted == "absent":
        return differs("that it is there", pair.exists(), False)
    public = said("openssl", "pkey", "-in", pair / "key.pem", "-pubout")
    mode = differs("the mode of the key", (pair / "key.pem").stat().st_mode & 0o777, 0o600)
    if wanted == "a request":
        asked = said("openssl", "req", "-in", pair / "request.pem", "-noout", "-pubkey")
        return first(mode, differs("the key of the request", asked, public))
    shown = said("openssl", "x509", "-in", pair / "cert.pem", "-noout", "-pubkey")
    text = said("openssl", "x509", "-in", pair / "cert.pem", "-noout", "-ext", "subjectAltName")
    names = ", ".join(f"DNS:{name}" for name in PAIRS[wanted]["names"])  # type: ignore[attr-defined]
    return first(
        mode,
        differs("the key of the certificate", shown, public),
        differs("the names", text.splitlines()[-1].strip(), names),
    )


@cache
def _authority(number: int) -> str:
    options = ("-subj", f"/CN=Authority {number}", "-addext", "basicConstraints=critical,CA:TRUE")
    keys = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "/dev/null")
    return must("openssl", "req", "-x509", *keys, "-days", "30", *options)


def _trust_cell(wanted: str, properties: dict[str, object], state: str, mark: str) -> Cell:
    def resources(place: Path) -> list[dict[str, object]]:
        filled = {
            key: str(text).replace("{0}", _authority(0)).replace("{place}", str(place))
            for key, text in properties.items()
        }
        return [{"ca_certificate": [{"matrix": filled}]}]

    return Cell(
        "ca_certificate",
        f"{state} / {wanted}",
        resources,
        partial(_wrong_trust, wanted),
        partial(_make_trust, mark),
        fails=wanted == "of no file",
        look=_look,
        clean=_forget,
    )


def _look(place: Path) -> object:
    return tree(place), tree(STORE) if STORE.exists() else None, BUNDLE.read_bytes()


def _make_trust(mark: str, place: Path) -> None:
    (place / "ca.pem").write_text(_authority(0))
    if mark:
        STORE.mkdir(exist_ok=True)
        ANCHOR.write_text(_authority(int(mark)) if mark.isdigit() else "mine\n")


def _forget(_place: Path) -> None:
    ANCHOR.unlink(missing_ok=True)
    must("update-ca-certificates")


def _wrong_trust(wanted: str, place: Path) -> str | None:
    done = subprocess.run(
        ["openssl", "verify", "-CAfile", BUNDLE, place / "ca.pem"], capture_output=True, check=False
    )
    is_trusted = done.returncode == 0
    return first(
        differs("that the host trusts it", is_trusted, wanted != "absent"),
        differs("that its file is there", ANCHOR.exists(), wanted != "absent"),
    )
