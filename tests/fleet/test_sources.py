"""Manifests and data in NATS: read from a real server, and followed by a running converger."""

import hashlib
import json
import os
import signal

import pytest
from nats_servers import NatsServer
from nats_site import archive, manifest
from ports import free_port
from processes_of_cli import environment, finish, spawned

from reactor import ManifestError
from reactor.source.address import parse_address, parse_data_address


def test_a_manifest_is_read_from_an_object_store(site):
    site.store(archive(manifest(site.root, "one")))
    program = site.load(site.manifest)
    assert program.path == site.manifest
    assert program.graph.resources[f"file#{site.root}/out"].content == "one"
    assert program.warnings == ()


def test_data_are_read_from_a_key_and_from_an_object(site):
    site.put("data: {content: key}")
    site.store(b"data: {content: object}", "site.yaml")
    path = site.written()
    assert site.load(path, site=site.data).data == {"content": "key"}
    assert site.load(path, site=f"obj://{site.bucket}/site.yaml").data == {"content": "object"}


def test_the_commands_take_the_context_by_option_and_by_variable(site):
    site.put("data: {content: key}")
    site.connect_to("nats://127.0.0.1:1")
    site.connect_to(site.server.url, "other")
    words = ["data", "--cache", site.root / "cache", site.data]
    for more, variables in ((["--context", "other"], {}), ([], {"NATS_CONTEXT": "other"})):
        with spawned(*words, *more, env=environment(**site.variables, **variables)) as process:
            done = finish(process)
        assert (done.code, json.loads(done.out)) == (0, {"content": "key"}), done.err
    with spawned(*words, "--cache", site.root / "empty", env=environment(**site.variables)) as process:
        done = finish(process)
    assert done.code != 0
    assert "can't reach the NATS server nats://127.0.0.1:1" in done.err


@pytest.mark.parametrize(
    ("url", "archive", "message", "hint"),
    [
        ("kv://b/site.tar.gz", True, "unsupported manifest source: kv://b/site.tar.gz", "obj://BUCKET"),
        ("obj://b/site.yaml", True, "obj://b/site.yaml is not a .tar.gz archive", "tar -czf"),
        ("obj://b", False, "obj://b names no key", "obj://BUCKET/KEY"),
        ("kv://u:s3cr3t@b/k", False, "the name of the bucket is not valid in kv://...", "kv://BUCKET/KEY"),
        ("kv://b/a..b", False, "the key is not valid in kv://b/a..b", "kv://BUCKET/KEY"),
        ("kv://b/>", False, "the key is not valid", "kv://BUCKET/KEY"),
    ],
)
def test_an_address_that_can_not_be_is_refused(url, archive, message, hint):
    parse = parse_address if archive else parse_data_address
    with pytest.raises(ManifestError) as caught:
        parse(url, "CCM")
    [problem] = caught.value.diagnostics
    assert (problem.code, message in problem.message, hint in problem.hint) == ("R0403", True, True)
    assert "s3cr3t" not in problem.message


def refusal(world, **inputs):
    with pytest.raises(ManifestError) as caught:
        world.load(world.written(), **inputs)
    [problem] = caught.value.diagnostics
    assert problem.hint
    return problem.code, problem.message


def test_what_is_not_there_is_named(site):
    assert refusal(site, site=site.data) == (
        "R0909", f"there is no key site.web in the key-value bucket {site.bucket}",
    )  # fmt: skip
    assert refusal(site, site="kv://none/k") == (
        "R0909", f"there is no key-value bucket none at the NATS server {site.server.url}",
    )  # fmt: skip
    assert refusal(site, site=f"obj://{site.bucket}/site.yaml") == (
        "R0909", f"there is no object site.yaml in the object store {site.bucket}",
    )  # fmt: skip


def test_what_can_not_be_used_is_named(site):
    site.put("")
    assert f"the value of {site.data} is empty" in refusal(site, site=site.data)[1]
    site.put("data: [")
    assert f"{site.data} is invalid: " in refusal(site, site=site.data)[1]
    (site.root / "config/nats/context/CCM.json").unlink()
    code, message = refusal(site, site=site.data)
    assert (code, message.partition(":")[0]) == ("R0905", "there is no NATS context CCM")


def test_an_object_that_is_no_archive_leaves_the_last_good_one_in_force(site):
    site.store(archive(manifest(site.root, "one")))
    site.load(site.manifest)
    site.store(b"no archive")
    program = site.load(site.manifest)
    assert program.graph.resources[f"file#{site.root}/out"].content == "one"
    [warning] = program.warnings
    assert f"the last valid version of {site.manifest}, fetched " in warning


def test_without_the_network_the_cached_copy_is_used_with_its_age(site):
    site.put("data: {content: kept}")
    path = site.written()
    site.load(path, site=site.data)
    site.connect_to(f"nats://127.0.0.1:{free_port()}")
    [state] = (site.root / "cache").glob("*/current.json")
    past = state.stat().st_mtime - 3 * 3600 - 60
    os.utime(state, (past, past))
    program = site.load(path, site=site.data)
    assert program.data == {"content": "kept"}
    [warning] = program.warnings
    assert "can't reach the NATS server" in warning
    assert f"the last valid version of {site.data}, fetched 3 h ago, is used" in warning


def test_new_data_are_in_force_at_once_and_deleted_ones_stay_in_force(site, converger):
    """It looks every 30 s: what comes sooner came by an event, and the deadline of the test is shorter for all of it."""
    site.put("data: {content: one}")
    run = converger("--hiera", site.data, site.written())
    assert site.out == "one"
    site.put("data: {content: two}")
    run.heard("reloaded")
    run.heard("converged")
    assert site.out == "two"
    site.delete()
    run.warned(f"there is no key site.web in the key-value bucket {site.bucket}; the last valid version")
    (site.root / "out").write_text("drift")
    run.heard("checked", lambda event: event["result"] == "changed")
    assert site.out == "two"
    site.put("data: {content: three}")
    run.heard("reloaded")
    run.heard("converged")
    assert site.out == "three"
    run.process.send_signal(signal.SIGTERM)
    assert finish(run.process).code == 0


def test_a_new_manifest_is_in_force_at_once_and_a_damaged_one_is_not(site, converger):
    site.store(archive(manifest(site.root, "one")))
    run = converger(site.manifest)
    site.store(b"no archive")
    run.warned(f"the last valid version of {site.manifest}")
    site.store(archive("resources: ["))
    run.heard("reloadrejected")
    assert site.out == "one"
    site.store(archive(manifest(site.root, "two")))
    run.heard("reloaded")
    run.heard("converged")
    assert site.out == "two"


def test_a_context_that_can_not_be_used_is_named_and_the_run_goes_on_with_the_copy(site, converger):
    site.put("data: {content: kept}")
    site.load(site.written(), site=site.data)
    site.connect_to("nats://[")
    run = converger("--hiera", site.data, site.written())
    run.warned("changes in NATS are not seen at once: ")
    (site.root / "out").write_text("drift")
    run.heard("checked", lambda event: event["result"] == "changed")
    assert site.out == "kept"


def test_a_server_that_goes_away_stops_nothing_on_the_host(tmp_path, site, converger):
    with NatsServer(tmp_path / "own") as server:
        other = site.at(server)
        other.put("data: {content: one}")
        run = converger("--hiera", other.data, other.written())
        server.kill()
        run.warned("the NATS server")
        (tmp_path / "out").write_text("drift")
        run.heard("checked", lambda event: event["result"] == "changed")
        assert other.out == "one"
        server.start()
        other.put("data: {content: two}")
        run.heard("reloaded")  # maybe only for the server that is back, before there is another value
        while other.out != "two":
            run.heard("converged")


def test_a_role_is_read_from_an_object_store_and_is_what_its_checksum_says(site):
    role = archive(manifest(site.root, "of the role"))
    site.store(role, "role.tgz")
    path = site.root / "uses.yaml"

    def uses(scheme, checksum):
        source = f"{scheme}://{site.bucket}/role.tgz"
        path.write_text(
            f"resources: [{{role: [{{web: {{source: '{source}', checksum: 'sha256:{checksum}'}}}}]}}]"
        )
        return site.load(path)

    right = hashlib.sha256(role).hexdigest()
    with pytest.raises(ManifestError, match="does not have the checksum of the manifest"):
        uses("obj", "0" * 64)
    with pytest.raises(ManifestError, match="unsupported role source"):
        uses("kv", right)
    assert f"file#{site.root}/out" in " ".join(uses("obj", right).graph.refs)
    site.connect_to("nats://127.0.0.1:1")
    assert uses("obj", right), "the cache has it"
