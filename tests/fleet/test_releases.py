"""Release documents, what a host refuses, and the releases on its disk."""

import io
import os
import signal
from dataclasses import replace

import pytest
from killed_steps import killed_before_step

from reactor.errors import ReactorError
from reactor.fleet.bundle.errors import BundleError
from reactor.fleet.bundle.pack import pack
from reactor.fleet.bundle.store import BundleStore
from reactor.fleet.documents import DocumentError, canonical, from_time_text
from reactor.fleet.release.document import Release, ReleaseError, require_consistent
from reactor.fleet.release.held import HeldReleases
from reactor.fleet.release.judge import (
    Answer,
    Circumstances,
    ReleaseRefusedError,
    is_expired,
    judge,
    require_signed_neighbours,
)
from reactor.fleet.release.pin import Pin
from reactor.fleet.rollout.state import ChannelState, Phase

BUNDLE, PREVIOUS = ("sha256-" + letter * 64 for letter in "ab")
MADE = from_time_text("2026-01-31T12:00:00Z")
NOW = MADE + 3600
RELEASE = Release("web", 42, BUNDLE, 18234, PREVIOUS, MADE, floor=40, note="ö", by="ann@example.org")


def test_a_release_is_canonical_json_and_is_named_by_its_bytes():
    data = RELEASE.to_bytes()
    assert (
        data
        == (
            f'{{"bundle":"{BUNDLE}","by":"ann@example.org","channel":"web","created":"2026-01-31T12:00:00Z","expires":null,'
            f'"floor":40,"not_before":null,"note":"ö","previous":"{PREVIOUS}","serial":42,"size":18234,"targets":"","v":1}}'
        ).encode()
    )
    assert Release.from_bytes(data) == RELEASE
    assert Release.from_bytes(data).digest == RELEASE.digest


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"v": 2}, "the release has version 2"),
        ({"serial": 0}, "'serial' of the release is 0, not between 1"),
        ({"serial": "42"}, "'serial' of the release is not an integer"),
        ({"channel": "../web"}, "only a-z, 0-9 and - are allowed"),
        ({"bundle": "sha256-" + "A" * 64}, "is not sha256- with 64"),
        ({"size": 0}, "'size' of the release is 0"),
        ({"size": 2**50}, "'size' of the release is"),
        ({"created": None}, "'created' of the release is not a string"),
        ({"created": "2026-01-31T12:00:00.000Z"}, "not in canonical form"),
        ({"extra": 1}, "the release has an unknown field 'extra'"),
        ({"note": "x" * 5000}, "has 5000 characters"),
        ({"floor": -1}, "'floor' of the release is -1"),
    ],
)
def test_a_damaged_release_is_refused(change, words):
    with pytest.raises(DocumentError, match=words):
        Release.from_bytes(canonical(RELEASE.to_fields() | change))


def test_the_same_fields_in_other_bytes_are_refused():
    with pytest.raises(DocumentError, match="not in canonical form"):
        Release.from_bytes(RELEASE.to_bytes().replace(b":42", b": 42"))


@pytest.mark.parametrize(
    ("changes", "before", "words"),
    [
        ({"floor": 43}, {}, "the floor 43 is above the serial 42"),
        ({"expires": MADE}, {}, "expires before it may be taken"),
        ({"expires": MADE + 5, "not_before": MADE + 6}, {}, "expires before it may be taken"),
        ({}, {"serial": 42}, "the previous release has the serial 42"),
        ({}, {"channel": "db"}, "one of the channel db, not web"),
        ({}, {"serial": 39}, "the floor 40 is above the previous release, 39"),
    ],
)
def test_a_release_that_contradicts_itself_is_not_made(changes, before, words):
    with pytest.raises(ReleaseError, match=words):
        require_consistent(replace(RELEASE, **changes), replace(RELEASE, **{"serial": 41, **before}))


def test_a_release_that_is_right_is_made():
    require_consistent(RELEASE, replace(RELEASE, serial=41))
    require_consistent(RELEASE, None)


def here(**changes):
    host = Circumstances({"web", "base"}, 40, None, NOW, lambda expression: expression == "true")
    return replace(host, **changes)


@pytest.mark.parametrize(
    ("changes", "host", "words"),
    [
        ({}, {"channels": {"base"}}, "this host does not follow that channel"),
        ({}, {"floor": 43}, "release 42 of web is below the floor 43, which a later release has set"),
        ({"expires": NOW}, {}, "has expired at 2026-01-31T13:00:00Z"),
        ({"expires": NOW}, {"in_force": BUNDLE}, "has expired"),
    ],
)
def test_a_host_refuses(changes, host, words):
    with pytest.raises(ReleaseRefusedError, match=words):
        judge(replace(RELEASE, **changes), here(**host))


def test_a_host_takes_waits_or_is_left_out():
    assert judge(RELEASE, here()).answer is Answer.TAKE
    assert judge(replace(RELEASE, targets="true"), here()).answer is Answer.TAKE
    out = judge(replace(RELEASE, targets="Facts.role == 'web'"), here())
    assert (out.answer, out.why) == (
        Answer.EXCLUDED,
        "release 42 of web is for hosts with Facts.role == 'web'",
    )
    later = judge(replace(RELEASE, not_before=NOW + 1), here())
    assert (later.answer, later.why) == (
        Answer.WAIT,
        "release 42 of web may be taken from 2026-01-31T13:00:01Z",
    )


def test_a_release_in_force_stays_when_it_expires():
    old = replace(RELEASE, expires=NOW)
    assert judge(old, here(in_force=old.digest)).answer is Answer.TAKE
    assert is_expired(old, NOW)
    assert not is_expired(old, NOW - 1)


def test_while_the_clock_is_not_set_nothing_is_too_old_and_what_was_made_for_later_waits():
    unset = here(now=0.0)
    assert judge(replace(RELEASE, expires=NOW), unset).answer is Answer.TAKE
    assert "clock of this host is not set" in judge(RELEASE, unset).why
    assert judge(RELEASE, here(now=RELEASE.created)).why == "", "at that very time it may be right"
    assert judge(replace(RELEASE, not_before=NOW), unset).answer is Answer.WAIT
    with pytest.raises(ReleaseRefusedError, match="below the floor"):
        judge(RELEASE, replace(unset, floor=50))


@pytest.mark.parametrize(
    ("change", "field"),
    [({"previous": BUNDLE}, "previous"), ({"previous": None}, "previous"), ({"serial": 43}, "serial")],
)
def test_a_state_that_names_other_neighbours_than_the_signers_is_refused(change, field):
    state = ChannelState("web", RELEASE.digest, 42, PREVIOUS, 100, (100, 10_000), Phase.ROLLING)
    require_signed_neighbours(state, RELEASE)
    with pytest.raises(ReleaseRefusedError, match=f"the field '{field}' is not as it was signed"):
        require_signed_neighbours(replace(state, **change), RELEASE)


def test_a_pin_is_read_as_it_was_written():
    pin = Pin("web7", "web", BUNDLE, MADE, until=NOW, why="because", by="ann")
    assert Pin.from_bytes(pin.to_bytes()) == pin
    with pytest.raises(DocumentError, match="only a-z"):
        Pin.from_bytes(replace(pin, host="web7.x").to_bytes())


# On the disk.


@pytest.fixture
def held(tmp_path):
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    return HeldReleases(BundleStore(str(state)), "web")


@pytest.fixture
def site(tmp_path):
    """Makes bundles and releases that hold a number each."""

    def make(serial, previous=None, **fields):
        directory = tmp_path / f"site{serial}"
        directory.mkdir(exist_ok=True)
        (directory / "manifest.yaml").write_text("resources: []\n")
        (directory / "number").write_text(f"{serial}\n")
        bundle = pack(str(directory))
        before = previous.digest if previous else None
        return Release("web", serial, bundle.digest, len(bundle.data), before, MADE, **fields), bundle.data

    return make


def take(held, release, data, validate=lambda directory: None):
    with held.store.locked():
        if not held.has_bundle(release):
            held.receive(release, io.BytesIO(data), validate)
        return held.switch(release, release.to_bytes(), b"signature", {"groups": ["eu"]})


def number_in_force(held):
    with open(f"{held.channel.current_path}/number") as file:
        return int(file.read())


def test_a_release_and_its_bundle_come_into_force_together(held, site):
    release, data = site(1)
    assert take(held, release, data)
    assert held.in_force == release.digest
    assert number_in_force(held) == 1
    fleet = {"groups": ["eu"], "channel": "web", "serial": 1, "release": release.digest}
    assert held.channel.facts == {"fleet": fleet}
    assert held.document(release.digest) == (release.to_bytes(), b"signature")
    assert not take(held, release, data)


def test_the_same_bundle_in_a_new_release_is_a_switch_without_a_download(held, site):
    first, data = site(1)
    take(held, first, data)
    again = replace(first, serial=2, previous=first.digest)
    assert held.has_bundle(again)
    assert take(held, again, b"")
    assert held.in_force == again.digest


def test_a_bundle_that_does_not_load_is_never_switched_to(held, site):
    first, data = site(1)
    take(held, first, data)
    seen = []

    def refuse(directory):
        seen.append(sorted(os.listdir(directory)))
        raise ReactorError("the manifest does not load")

    second, data = site(2, first)
    with pytest.raises(ReactorError, match="does not load"):
        take(held, second, data, refuse)
    assert seen == [["manifest.yaml", "number"]]
    assert (held.in_force, number_in_force(held)) == (first.digest, 1)
    assert not held.has_bundle(second)
    assert held.document(second.digest) is None
    assert os.listdir(f"{held.store.root}/tmp") == []


@pytest.mark.parametrize("change", ["cut", "longer", "other", "bit"])
def test_a_wrong_bundle_is_never_switched_to(held, site, change):
    first, data = site(1)
    take(held, first, data)
    second, right = site(2, first)
    wrong = {
        "cut": right[:-1],
        "longer": right + b"x",
        "other": data,
        "bit": bytes([right[0] ^ 1]) + right[1:],
    }[change]
    if change == "longer":
        second = replace(second, size=len(wrong))
    with pytest.raises(BundleError):
        take(held, second, wrong)
    assert number_in_force(held) == 1


def test_the_floor_only_rises_and_holds_on_the_disk(held, site):
    first, data = site(5, floor=4)
    take(held, first, data)
    assert HeldReleases(held.store, "web").floor == 4
    second, data = site(6, first, floor=2)
    take(held, second, data)
    assert held.floor == 4
    old, data = site(3)
    with pytest.raises(BundleError, match="release 3 is below the floor 4"):
        take(held, old, data)
    assert held.in_force == second.digest
    assert take(held, first, b"")


@pytest.mark.parametrize("content", [b"", b"x", b"\xff"])
def test_a_floor_that_can_not_be_read_is_not_zero(held, site, content):
    take(held, *site(5, floor=4))
    with open(f"{held.channel.path}/floor", "wb") as file:
        file.write(content)
    with pytest.raises(BundleError, match=r"the floor in .* can't be read"):
        take(held, *site(6))
    assert number_in_force(held) == 5


def test_current_previous_and_one_more_are_kept(held, site):
    before = None
    made = []
    for serial in range(1, 6):
        release, data = site(serial, before)
        take(held, release, data)
        os.utime(held.store.path_of(release.bundle), (serial, serial))  # two may have the same time
        made.append(release)
        before = release
    assert sorted(os.listdir(f"{held.store.root}/bundles")) == sorted(each.bundle for each in made[-3:])
    assert {each for each in made if held.document(each.digest)} == set(made[-3:])


def test_a_host_killed_at_any_step_has_the_old_release_or_the_new_one(held, site):
    old, old_data = site(1)
    take(held, old, old_data)
    new, data = site(2, old, floor=1)
    seen = set()
    for fatal in range(1, 200):
        code = killed_before_step(fatal, lambda: take(held, new, data))
        seen.add(held.in_force)
        assert held.in_force == {1: old.digest, 2: new.digest}[number_in_force(held)]
        assert held.floor == 1
        assert held.document(held.in_force) is not None
        if held.in_force == new.digest:
            assert take(held, old, b"")
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert fatal > 15
    assert seen == {old.digest, new.digest}
    assert os.listdir(f"{held.store.root}/tmp") == []
