"""What people who hold one key can't do, tried on a real server: an operator without a signing key, one signer of two."""

from dataclasses import replace

import pytest
import trio
from signers_of_tests import new_key, public, signers_of
from sim_fleet import PACE, SimFleet, until

from reactor.fleet.bucket_names import CHANNELS, HOSTS
from reactor.fleet.host_spec import HostSpec, SignedPin
from reactor.fleet.link.connection import connected
from reactor.fleet.link.errors import ApiError, DeniedError, NoAnswerError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.channels import Channels
from reactor.fleet.operator.stored_releases import publish_bundle, publish_release
from reactor.fleet.release.pin import Pin
from reactor.fleet.release.signing import sign
from reactor.fleet.release.verify import PIN, RELEASE
from reactor.fleet.rollout.commands import NewRelease
from reactor.fleet.rollout.gate import Gate
from reactor.fleet.rollout.hosts import HostPhase
from reactor.fleet.testing import SimHost

REFUSED = (DeniedError, NoAnswerError, ApiError)


@pytest.fixture
def fleet(tmp_path):
    """Hosts that ask for two signers, ann and ben; mallory is an operator without a key that hosts believe."""
    made = SimFleet(tmp_path, ["web1"])
    made.keys = {name: new_key(tmp_path, f"key-{name}") for name in ("ann", "ann2", "ben", "mallory")}
    people = {"ann": "ann", "ann2": "ann", "ben": "ben"}
    text = "".join(f"{people[name]} {public(made.keys[name])}\n" for name in people)
    made.hosts["web1"] = SimHost("web1", ["web"], signers_of(text), require=2, pace=PACE)
    with made.fleet_server.server:
        trio.run(made.fleet_server.make_streams)
        yield made


async def begun(fleet, js, serial, previous, *names, namespace=RELEASE):
    """Begin a release with the signatures of these keys, as any operator may."""
    release, bundle, _ = fleet.release(serial, previous)
    await publish_bundle(js, bundle)
    signatures = b"".join(sign(release.to_bytes(), fleet.keys[name], namespace) for name in names)
    await publish_release(js, release, signatures)
    state, revision = await Channels(js).read("web")
    if state is None:
        new = NewRelease("web", release.digest, serial, release.previous)
        await Channels(js).begin(new, (10_000,), Gate(soak=0), "mallory")
    else:
        made = replace(state, release=release.digest, serial=serial, previous=release.previous)
        await js.key_value(CHANNELS).update("web", made.to_bytes(), revision)
    return release


def report(fleet):
    return fleet.hosts["web1"].fleet.followers[0].report


async def rejected(fleet, release):
    """Wait until the host, which fetches it first, has rejected this release."""
    await until(lambda: (report(fleet).about, report(fleet).phase) == (release.digest, HostPhase.REJECTED))


async def test_one_signer_of_two_and_an_operator_without_a_key_can_release_nothing(fleet):
    async with fleet.running() as js:
        await begun(fleet, js, 1, None, "ann", "ben")
        await until(lambda: fleet.taken("web1") == [1])
        attempts = {
            2: ("ann",),
            3: ("ann", "ann"),
            4: ("ann", "ann2"),
            5: ("mallory", "ben"),
            6: ("mallory",),
        }
        for serial, names in attempts.items():
            await rejected(fleet, await begun(fleet, js, serial, 1, *names))
        await rejected(fleet, await begun(fleet, js, 7, 1, "ann", "ben", namespace=PIN))
        assert fleet.taken("web1") == [1]


async def test_an_operator_without_a_key_pins_no_host_to_what_the_channel_has_left(fleet):
    async with fleet.running() as js:
        await begun(fleet, js, 1, None, "ann", "ben")
        await until(lambda: fleet.taken("web1") == [1])
        await begun(fleet, js, 2, 1, "ann", "ben")
        await until(lambda: fleet.taken("web1") == [1, 2])
        pin = Pin("web1", "web", fleet.releases[1].digest, 1_700_000_000.0)
        for names in (("mallory",), ("ann",), ("ann", "ann2")):
            signed = b"".join(sign(pin.to_bytes(), fleet.keys[name], PIN) for name in names)
            spec = HostSpec(
                "web1", ("web",), pins={"web": SignedPin(pin.to_bytes().decode(), signed.decode())}
            )
            await js.key_value(HOSTS).put("web1", spec.to_bytes())
            await until(lambda: report(fleet).phase is HostPhase.REJECTED)
            await js.key_value(HOSTS).put("web1", HostSpec("web1", ("web",)).to_bytes())
            await until(lambda: report(fleet).phase is HostPhase.CONVERGED)
        assert fleet.taken("web1") == [1, 2]


async def test_the_admitting_service_can_not_release_and_reads_no_secret(fleet):
    server = fleet.fleet_server
    async with server.connected() as operator:
        await operator.key_value("reactor_secrets").put("web1.db", b"cipher")
        options = replace(server.options(), credentials=server.fleet_server.path("admit.creds"))
        async with connected(options) as connection:
            admit = JetStream(connection, seconds=0.4)
            for attack in (
                lambda: admit.key_value(CHANNELS).put("web", b"evil"),
                lambda: admit.objects("reactor_bundles").put("sha256-x", b"evil"),
                lambda: admit.key_value("reactor_secrets").last("web1.db"),
                lambda: admit.key_value("reactor_secrets").put("web1.db", b"evil"),
                lambda: admit.key_value("reactor_drive").put("web", b"evil"),
                lambda: admit.key_value("reactor_state").last("web1"),
                lambda: admit.call("STREAM.DELETE.KV_reactor_hosts"),
            ):
                with pytest.raises(REFUSED):
                    await attack()
        assert (await operator.key_value("reactor_secrets").get("web1.db")).value == b"cipher"
        assert await operator.key_value(CHANNELS).get("web") is None
