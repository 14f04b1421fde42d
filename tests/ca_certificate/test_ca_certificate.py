"""The kind ca_certificate, by the real update-ca-certificates of Debian in a store of its own."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
from functools import partial
from pathlib import Path

import one_shot
import pytest
import trustme

from reactor.engine.events import Result
from reactor.resource.backup_store import state_directory_for
from reactor.resources.ca_certificate import CaCertificate, kind, store
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import running

STORE = Path("/usr/local/share/ca-certificates")
CERTIFICATES = Path("/etc/ssl/certs")
BUNDLE = CERTIFICATES / "ca-certificates.crt"
ANCHOR = STORE / "ours.crt"


@pytest.fixture(scope="module", autouse=True)
def own_store(tmp_path_factory):
    """Nothing of the store of this host is written: both directories are copies."""
    for directory in (STORE, CERTIFICATES, Path("/etc/ca-certificates")):
        copy = tmp_path_factory.mktemp("store") / "copy"
        shutil.copytree(directory, copy, symlinks=True)
        subprocess.run(["mount", "--bind", copy, directory], check=True)
    # Few authorities are hashed faster than all of Mozilla's.
    Path("/etc/ca-certificates/few.conf").write_text("")
    subprocess.run(
        ["mount", "--bind", "/etc/ca-certificates/few.conf", "/etc/ca-certificates.conf"], check=True
    )
    subprocess.run(["update-ca-certificates", "--fresh"], check=True, capture_output=True)


@pytest.fixture(autouse=True)
def clean_store():
    before = seen()
    yield
    if seen() == before:
        return
    ANCHOR.unlink(missing_ok=True)
    subprocess.run(["update-ca-certificates"], check=True, capture_output=True)


@pytest.fixture(scope="module")
def authorities():
    return [trustme.CA(organization_name=name).cert_pem.bytes().decode() for name in ("one", "two")]


@pytest.fixture
def converge(tmp_path):
    async def converge(*, noop=False, **properties):
        resource = CaCertificate(name="ours", **properties)
        with state_directory_for(str(tmp_path / "state")):
            return await one_shot.converged(resource, noop=noop)

    return converge


@pytest.fixture
def must_change(converge):
    return partial(one_shot.must_change, converge, seen=seen, is_literal=False)


def seen():
    return BUNDLE.read_bytes(), sorted(os.listdir(CERTIFICATES)), ANCHOR.exists() and ANCHOR.read_bytes()


def trusts(pem):
    """Whether a program that reads the store trusts the authority."""
    context = ssl.create_default_context(cafile=str(BUNDLE)) if BUNDLE.stat().st_size else None
    return context is not None and ssl.PEM_cert_to_DER_cert(pem) in context.get_ca_certs(binary_form=True)


async def test_an_authority_is_trusted_replaced_and_removed(must_change, converge, authorities, tmp_path):
    one, two = authorities
    assert await must_change(content=one) == "trusts the authority"
    assert trusts(one)
    assert ANCHOR.stat().st_mode & 0o777 == 0o644
    (tmp_path / "ca.pem").write_text(two)
    source = {"source": str(tmp_path / "ca.pem")}
    assert await must_change(**source) == "trusts the authority by its new certificate"
    assert (trusts(one), trusts(two)) == (False, True)
    assert await must_change(ensure="absent") == "no longer trusts the authority"
    assert not trusts(two)
    assert not ANCHOR.exists()
    assert await converge(ensure="absent") == (Result.OK, "")


async def test_a_store_that_lost_it_is_made_again(must_change, authorities):
    await must_change(content=authorities[0])
    BUNDLE.write_text(authorities[1])
    assert await must_change(content=authorities[0]) == "made the store again"
    assert trusts(authorities[0])
    ANCHOR.write_text("spoilt")
    assert await must_change(content=authorities[0]) == "trusts the authority by its new certificate"


@pytest.mark.parametrize("ensure", ["present", "absent"])
async def test_what_a_killed_run_left_undone_is_done(converge, authorities, monkeypatch, ensure):
    """The file is written or removed, and the run is killed before the store is made of it."""
    properties = {"content": authorities[0]} if ensure == "present" else {"ensure": "absent"}
    if ensure == "absent":
        await converge(content=authorities[0])
    broken = store.DEBIAN._replace(command=("false",))
    with monkeypatch.context() as patch:
        patch.setattr(kind, "store_of_host", lambda: broken)
        assert (await converge(**properties))[0] is Result.FAILED
    assert trusts(authorities[0]) is (ensure == "absent")
    assert await converge(**properties) == (Result.CHANGED, "made the store again")
    assert trusts(authorities[0]) is (ensure == "present")


async def test_what_others_change_is_announced(authorities):
    resource = CaCertificate(name="ours", content=authorities[0])
    async with running(resource) as story:
        await story.rest()
        for spoil in (lambda: ANCHOR.write_text("spoilt"), ANCHOR.unlink, lambda: BUNDLE.write_text("")):
            seen = len(story.checks(resource.ref))
            spoil()
            await story.until(
                lambda: any(each.result is Result.CHANGED for each in story.checks(resource.ref)[seen:])  # noqa: B023
            )
            await story.rest()
            assert trusts(authorities[0])


async def test_a_source_that_can_not_be_used_is_told_before(converge, tmp_path, authorities):
    for content, words in (
        (None, "there is no"),
        ("x", "is one certificate"),
        ("".join(authorities), "is one"),
    ):
        if content is not None:
            (tmp_path / "ca.pem").write_text(content)
        for noop in (True, False):
            result, said = await converge(noop=noop, source=str(tmp_path / "ca.pem"))
            assert (result, words in said) == (Result.FAILED, True), said
    assert not ANCHOR.exists()


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({}, "content or source must be set"),
        ({"content": "x"}, "is one certificate in PEM"),
        ({"content": "-----BEGIN PRIVATE KEY-----"}, "holds a private key"),
        ({"name": "../ours", "ensure": "absent"}, "can't be the name of a file"),
        ({"name": "a b", "ensure": "absent"}, "can't be the name of a file"),
    ],
)
def test_what_makes_no_sense_is_found_at_load(properties, words):
    with pytest.raises(ValueError, match=words):
        CaCertificate(**{"name": "ours", **properties})


def test_each_host_has_the_store_of_its_own_program(monkeypatch, tmp_path):
    """Fedora has update-ca-trust, which reads another directory."""
    assert store.store_of_host() == store.DEBIAN
    assert store.DEBIAN.command == ("update-ca-certificates",)
    program = tmp_path / "update-ca-trust"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setitem(store.ENVIRONMENT, "PATH", str(tmp_path))
    found = store.store_of_host()
    assert found.command == ("update-ca-trust", "extract")
    assert (found.directory, found.suffix) == ("/etc/pki/ca-trust/source/anchors", ".pem")
    assert found.bundle == "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"


@pytest.mark.parametrize("promise", CONTRACT)
async def test_the_ca_certificate_kind_keeps_the_contract(promise, authorities):
    def make():
        return CaCertificate(name="ours", content=authorities[0])

    await promise(
        Case(make, lambda: (ANCHOR.exists(), trusts(authorities[0])), lambda: ANCHOR.write_text("x"))
    )


@pytest.mark.parametrize("of", ["the file", "its directory", "a symlink"])
async def test_no_other_user_decides_which_authority_the_host_trusts(converge, authorities, tmp_path, of):
    source = tmp_path / "ca/ca.pem"
    source.parent.mkdir()
    source.write_text(authorities[0])
    (tmp_path / "link").symlink_to(source)
    path = {"the file": source, "its directory": source.parent, "a symlink": tmp_path / "link"}[of]
    os.chown(path, 65534, 65534, follow_symlinks=False)
    for noop in (True, False):
        result, words = await converge(noop=noop, source=str(tmp_path / "link"))
        assert (result, "another user can change" in words) == (Result.FAILED, True), words
    assert not ANCHOR.exists()
