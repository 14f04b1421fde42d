"""What the `nats` CLI writes is read, and what we write has the same bytes. `record.py` made the recording."""

import base64
import json
import re
import zlib
from pathlib import Path

from buckets import make_bucket, make_store
from record import CONTENT, RECORDING, written

from reactor.fleet.link.context import read_context, selected_context
from reactor.fleet.link.options import Options

RECORDED = json.loads(RECORDING.read_text())


async def written_again(js, stream):
    """Make a stream as the recorded one is."""
    recorded = RECORDED["streams"][stream]
    await js.create_stream(stream, recorded["config"])
    for message in recorded["messages"]:
        headers = {
            name: value for name, value in message["headers"].items() if not name.startswith("Nats-Expected")
        }
        await js.publish(
            message["subject"], zlib.decompress(base64.b64decode(message["data"])), headers=headers
        )


async def test_keys_of_the_cli_are_read(js):
    await written_again(js, "KV_CONFIG")
    bucket = js.key_value("CONFIG")
    assert (await bucket.get("site.yaml")).value == b"two"
    assert [each.value for each in await bucket.history("site.yaml")] == [b"one", b"two"]
    assert [(await bucket.last(key)).operation for key in ("other", "gone")] == ["delete", "purge"]
    assert await bucket.keys() == ["site.yaml"]


async def test_objects_of_the_cli_are_read(js):
    await written_again(js, "OBJ_FILES")
    store = js.objects("FILES")
    assert await store.read("site/manifest.tar.gz", largest=1 << 20) == CONTENT
    assert [each.name for each in await store.list()] == ["site/manifest.tar.gz"]
    assert (await store.info("gone.tgz")).deleted


async def test_our_keys_have_the_bytes_of_the_cli(js):
    await js.delete_stream("KV_CONFIG")
    bucket = js.key_value("CONFIG")
    await make_bucket(bucket, history=3)
    await bucket.put("site.yaml", b"one")
    await bucket.put("site.yaml", b"two")
    await bucket.create("other", b"x")
    await bucket.delete("other")
    await bucket.put("gone", b"1")
    await bucket.purge("gone")
    ours = await written(js, "KV_CONFIG")
    for message in ours["messages"]:
        assert re.fullmatch("[0-9a-f]{22}", message["headers"].pop("Nats-Msg-Id")), (
            "so that it is stored once"
        )
    assert ours == RECORDED["streams"]["KV_CONFIG"]


async def test_our_objects_have_the_bytes_of_the_cli(js):
    await js.delete_stream("OBJ_FILES")
    store = js.objects("FILES")
    await make_store(store)
    await store.put("site/manifest.tar.gz", CONTENT)
    await store.put("gone.tgz", CONTENT)
    await store.delete("gone.tgz")
    assert shown(await written(js, "OBJ_FILES")) == shown(RECORDED["streams"]["OBJ_FILES"])


def shown(stream):
    """A stream of objects with 1, 2... for the random names of its contents."""
    text = json.dumps(
        [
            stream["config"],
            [
                [each["subject"], each["headers"], zlib.decompress(base64.b64decode(each["data"])).decode()]
                for each in stream["messages"]
            ],
        ]
    )
    names = dict.fromkeys(re.findall(r'nuid\\": ?\\"(\w{22})\\"', text))
    assert len(names) == 2
    for number, name in enumerate(names):
        text = text.replace(name, str(number))
    return json.loads(text)


def test_a_context_of_the_cli_is_read(tmp_path):
    for name, content in RECORDED["contexts"].items():
        path = Path(tmp_path, "nats", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    environment = {"XDG_CONFIG_HOME": str(tmp_path), "HOME": "/home/ann", "KEYS": "/keys"}
    assert selected_context(environment) == "CCM"
    assert read_context(environment=environment) == Options(
        servers=("tls://one:4222", "two"),
        name="reactor CCM",
        credentials="/keys/web7.creds",
        ca="/keys/ca.pem",
        tls_first=True,
        inbox_prefix="_INBOX_web7",
        origin=f"{tmp_path}/nats/context/CCM.json",
    )
