"""Releases that are stored: packed, signed by two people, begun again, pinned, compared, removed. By the real commands."""

import json

import pytest
import trio
from fleet_server import FleetServer
from known_fleet import put_host, remember, summary
from signers_of_tests import new_key, public, signers_of

from reactor.fleet.bucket_names import BUNDLES, HOSTS, STATE
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.operator.stored_releases import find_release, published_release
from reactor.fleet.release.pin import Pin
from reactor.fleet.release.sshsig import SignatureError
from reactor.fleet.release.verify import PIN, RELEASE, verify
from reactor.fleet.summary import ChannelReport, Summary

MANIFEST = "resources:\n  - exec: { name: nothing, command: 'true', refreshonly: true }\n"
MORE = (
    MANIFEST.replace("'true'", "'false'") + "  - exec: { name: more, command: 'true', refreshonly: true }\n"
)


class World:
    def __init__(self, directory):
        self.directory = directory
        self.server = FleetServer(directory / "fleet")
        self.ann, self.ben = new_key(directory, "ann"), new_key(directory, "ben")
        self.signers = signers_of(f"ann {public(self.ann)}", f"ben {public(self.ben)}")
        self.site = directory / "site"
        self.site.mkdir()
        self.write(MANIFEST)

    def write(self, manifest):
        (self.site / "manifest.yaml").write_text(manifest)

    def ask(self, question):
        async def asked():
            async with self.server.connected() as js:
                return await question(js)

        return trio.run(asked)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    made = World(tmp_path_factory.mktemp("stored"))
    with made.server.server:
        trio.run(made.server.make_streams)
        made.home = remember(made.server)
        yield made


@pytest.fixture
def fleet(reactor, world):
    return lambda *words: reactor("fleet", words[0], "--home", world.home, *words[1:])


def answered(done):
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_the_same_files_give_the_same_bundle(reactor, world, tmp_path):
    first = answered(reactor("fleet", "pack", world.site, "--format", "json", "-o", tmp_path / "bundle"))
    assert (tmp_path / "bundle").stat().st_size == first["size"]
    assert (
        reactor("fleet", "pack", world.site).out
        == f"{first['bundle']}: 1 file or directory, {first['size']} bytes\n"
    )
    (tmp_path / "manifest.yaml").write_text("resources: [{fiel: {}}]\n")
    done = reactor("fleet", "pack", tmp_path)
    assert (done.code, done.out, "error[R0107]" in done.err) == (2, "", True)


def test_a_draft_is_signed_by_a_second_person_and_then_begun(fleet, world):
    words = ("--soak", "0", "--waves", "100%", "--format", "json")
    draft = answered(fleet("release", world.site, "web", "--draft", "--key", world.ann, *words))
    assert (draft["serial"], draft["begun"]) == (1, False)
    assert fleet("status").out == "no channel has a release\n"

    async def names(js):
        release, signatures = await published_release(js, draft["release"])
        return verify(release.to_bytes(), signatures, world.signers, RELEASE, None, require=2)

    with pytest.raises(SignatureError, match="signatures of 2 different people are required"):
        world.ask(names)
    done = fleet("sign", draft["release"], "--key", world.ann)
    assert (done.code, "is signed with this key already" in done.err) == (1, True)
    signed = answered(fleet("sign", draft["release"][:30], "--key", world.ben, "--format", "json"))
    assert signed == {"release": draft["release"], "signatures": 2}
    assert world.ask(names) == ("ann", "ben")
    begun = answered(fleet("release", "web", "--signed", draft["release"], "--key", world.ann, *words))
    assert (begun["release"], begun["begun"]) == (draft["release"], True)
    assert fleet("drive", "web", "--until-ended").code == 0


def test_an_earlier_bundle_is_released_again_with_a_new_serial(fleet, world):
    words = ("--soak", "0", "--waves", "100%", "--key", world.ann)
    world.write(MORE)
    assert fleet("release", world.site, "web", *words, "--wait").code == 0
    again = answered(fleet("release", "web", "--again", "1", "--format", "json", *words))
    assert again["serial"] == 3

    async def bundles(js):
        return [(await published_release(js, digest))[0].bundle for digest in (first, again["release"])]

    first = world.ask(lambda js: find(js, "web/1"))
    one, three = world.ask(bundles)
    assert one == three
    assert fleet("drive", "web", "--until-ended").code == 0
    done = fleet("release", "web", "--again", "9", *words)
    assert (done.code, "error[R1003]: there is no release 9" in done.err) == (1, True)
    done = fleet("release", world.site, "web", "--again", "1", *words)
    assert (done.code, "give DIRECTORY and CHANNEL, or CHANNEL with --again or --signed" in done.err) == (
        2,
        True,
    )


def test_no_release_lets_a_host_go_back_beyond_the_one_before(fleet, world):
    """With a lower floor, who writes to the servers could give hosts any release that people ever signed."""

    async def floors(js):
        return [(await find_release(js, f"web/{serial}"))[0].floor for serial in (1, 2, 3)]

    assert world.ask(floors) == [1, 1, 2]


def test_a_channel_that_the_servers_have_lost_goes_on_with_the_number_that_hosts_take(fleet, world):
    words = ("--soak", "0", "--waves", "100%", "--key", world.ann, "--format", "json")
    assert answered(fleet("release", world.site, "lost", "--serial", "8", *words))["serial"] == 8
    assert fleet("drive", "lost", "--until-ended").code == 0
    assert answered(fleet("release", world.site, "lost", *words))["serial"] == 9
    done = fleet("release", world.site, "lost", "--serial", "8", *words)
    assert (done.code, "has the serial 8, and this one 8" in done.err) == (1, True)


async def find(js, name):
    return (await find_release(js, name))[0].digest


def test_two_releases_are_compared_by_files_and_resources(fleet, world):
    lines = fleet("diff", "web/1", "web/2").out.splitlines()
    assert lines[0] == "file manifest.yaml: changed"
    assert "exec#more: added" in lines
    assert lines[lines.index("exec#nothing: changed") + 1] == '  command: "true" -> "false"'
    found = answered(fleet("diff", "web/2", "web/1", "--format", "json"))
    assert [(each["resource"], each["change"]) for each in found["resources"]] == [
        ("exec#more", "removed"),
        ("exec#nothing", "changed"),
    ]
    assert fleet("diff", "web/1", "web/3").out == "nothing differs\n"
    assert fleet("diff", "web/2", world.site).out == "nothing differs\n"


def test_a_pin_is_signed_for_its_host_and_purpose(fleet, world):
    async def put(js):
        await js.key_value(HOSTS).put("web7", HostSpec("web7", ("web",)).to_bytes())
        await js.key_value(HOSTS).put("db1", HostSpec("db1", ("db",)).to_bytes())

    world.ask(put)
    done = answered(
        fleet(
            "pin",
            "web7",
            "web/2",
            "--key",
            world.ann,
            "--why",
            "old data",
            "--until",
            "2h",
            "--format",
            "json",
        )
    )
    assert (done["host"], done["channel"], done["serial"]) == ("web7", "web", 2)

    async def spec(js):
        return HostSpec.from_bytes((await js.key_value(HOSTS).get("web7")).value, "web7")

    signed = world.ask(spec).pins["web"]
    assert verify(signed.data.encode(), signed.signatures.encode(), world.signers, PIN, None) == ("ann",)
    with pytest.raises(SignatureError, match="signed for 'reactor-pin'"):
        verify(signed.data.encode(), signed.signatures.encode(), world.signers, RELEASE, None)
    pin = Pin.from_bytes(signed.data.encode())
    assert (pin.host, pin.pin, pin.until - pin.created) == ("web7", done["pin"], pytest.approx(7200, abs=60))
    for words, said in (
        (("db1", "web/2"), "error[R1003]: db1 does not follow the channel web"),
        (("web8", "web/2"), "error[R1008]: there is no host web8"),
        (("web7", "web/9"), "error[R1003]: there is no release web/9"),
    ):
        done = fleet("pin", *words, "--key", world.ann)
        assert (done.code, said in done.err) == (1, True), done.err


def test_what_nothing_needs_is_removed_and_what_is_pinned_stays(fleet, world, monkeypatch):
    world.write(MANIFEST + "# other\n")
    for _ in range(2):
        words = ("--soak", "0", "--waves", "100%", "--key", world.ann, "--max-silent", "100%", "--wait")
        assert fleet("release", world.site, "web", *words).code == 0
    assert fleet("gc", "--keep", "2").out == "nothing can be removed\n"  # all of it is younger than a day
    monkeypatch.setattr("reactor.fleet.operator.stored_releases._YOUNG", 0)
    gone = {world.ask(lambda js, name=name: find(js, name)) for name in ("web/1", "web/3")}
    foreseen = fleet("gc", "--keep", "2", "--dry-run").out
    assert all(f"would remove {each}.sig" in foreseen for each in gone)
    removed = answered(fleet("gc", "--keep", "2", "--format", "json"))["removed"]
    # Release 2 is pinned, so its bundle stays; that of 1 and 3 goes with them.
    assert {each["name"] for each in removed} > gone | {f"{each}.sig" for each in gone}
    assert len(removed) == 5

    async def left(js):
        return {each.name for each in await js.objects(BUNDLES).list()}

    names = world.ask(left)
    assert {world.ask(lambda js, name=name: find(js, name)) for name in ("web/2", "web/4", "web/5")} < names
    assert fleet("diff", "web/2", "web/4").code == 0
    assert fleet("gc", "--keep", "2").out == "nothing can be removed\n"


def test_a_pin_below_the_floor_is_refused_and_its_bundle_can_be_signed_anew(fleet, world):
    words = ("--soak", "0", "--waves", "100%", "--key", world.ann, "--max-silent", "100%", "--wait")
    assert fleet("drive", "lost", "--until-ended").code == 0
    assert fleet("release", world.site, "lost", *words).code == 0

    async def report(js):
        release = await find(js, "lost/10")
        await put_host(
            js, "old1", Summary("old1", {"lost": ChannelReport(release, release, 10)}), channels=["lost"]
        )

    world.ask(report)
    done = fleet("pin", "old1", "lost/8", "--key", world.ann)
    assert (done.code, done.err.splitlines()) == (
        1,
        [
            "error[R1003]: old1 has release 10, so it takes none below 9",
            "hint: sign the bundle anew, and pin to that: reactor fleet release lost --again 8 --draft",
        ],
    )
    again = ("--again", "8", "--draft", "--key", world.ann, "--format", "json")
    draft = answered(fleet("release", "lost", *again))["release"]
    for name in (draft, "lost/9"):
        assert fleet("pin", "old1", name, "--key", world.ann).code == 0


def test_servers_that_lost_their_data_begin_no_release_that_hosts_refuse(world, fleet):
    report = summary("gone1", channels=("gone",)).to_bytes()
    world.ask(lambda js: js.key_value(STATE).put("gone1", report))
    begin = ("release", world.site, "gone", "--key", world.ann)
    done = fleet(*begin)
    assert (done.code, done.out) == (1, "")
    assert (
        "hosts have release 42 of gone, and the servers know none: they may have lost their data\n"
        in done.err
    )
    assert "hint: begin above it: --serial 43\n" in done.err
    assert fleet(*begin, "--serial", "43").out.startswith("release 43 of gone begins ")
