"""Records what the `nats` CLI writes: `tests/fleet/record.py PATH_OF_NATS`, and checks that it reads what we write.

The CLI is built by `GOFLAGS=-mod=mod go install github.com/nats-io/natscli/nats@v0.5.1`. The recording is in
`recorded/cli.json`: each stream with its configuration and messages, and the files of contexts.
"""

import base64
import json
import os
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import trio
from buckets import make_bucket, make_store
from nats_servers import NatsServer

from reactor.fleet.link.connection import connected
from reactor.fleet.link.direct_get import messages_from
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options

RECORDING = Path(__file__).parent / "recorded/cli.json"
CONTENT = b"reactor" * 28_000
"""Of the recorded object: two chunks."""
OWN_HEADERS = (
    "Nats-Stream",
    "Nats-Subject",
    "Nats-Sequence",
    "Nats-Time-Stamp",
    "Nats-Num-Pending",
    "Nats-Last-Sequence",
)
"""What the server adds to an answer."""
CONFIGURED = (
    "subjects", "retention", "storage", "max_msgs_per_subject", "num_replicas", "max_age", "max_bytes", "discard",
    "duplicate_window", "allow_rollup_hdrs", "deny_delete", "deny_purge", "allow_direct", "allow_msg_ttl",
)  # fmt: skip


async def written(js, stream):
    """The configuration and the messages of a stream."""
    info = await js.stream_info(stream)
    return {
        "config": {name: info["config"].get(name) for name in CONFIGURED},
        "messages": [
            {
                "subject": each.subject,
                "headers": {name: value for name, value in each.headers.items() if name not in OWN_HEADERS},
                "data": base64.b64encode(zlib.compress(each.data)).decode(),
            }
            async for each in messages_from(js, stream, ">")
        ],
    }


async def record(cli, directory):
    os.environ["XDG_CONFIG_HOME"] = str(directory / ".config")
    content = directory / "content.tgz"
    content.write_bytes(CONTENT)

    def nats(*arguments):
        command = [cli, "--server", server.url, *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True).stdout

    with NatsServer(directory / "server") as server:
        for line in (
            "kv add CONFIG --history 3", "kv put CONFIG site.yaml one", "kv put CONFIG site.yaml two",
            "kv create CONFIG other x", "kv del CONFIG other -f", "kv put CONFIG gone 1", "kv purge CONFIG gone -f",
            "object add FILES", "object put FILES {content} --name site/manifest.tar.gz --no-progress",
            "object put FILES {content} --name gone.tgz --no-progress", "object rm FILES gone.tgz -f",
        ):  # fmt: skip
            nats(*(word.replace("{content}", str(content)) for word in line.split()))
        async with connected(Options(servers=(server.url,))) as link:
            js = JetStream(link)
            streams = {name: await written(js, name) for name in ("KV_CONFIG", "OBJ_FILES")}
            await reads_ours(js, nats, directory)
    save = [
        "context",
        "save",
        "CCM",
        "--server",
        "tls://one:4222,two",
        "--tlsfirst",
        "--inbox-prefix",
        "_INBOX_web7",
        "--select",
    ]
    for option, name in (("--creds", "web7.creds"), ("--tlsca", "ca.pem")):
        (directory / name).touch()
        save += (option, str(directory / name))
    subprocess.run([cli, *save], check=True, capture_output=True)
    home = directory / ".config/nats"
    files = {
        str(path.relative_to(home)): path.read_text().replace(str(directory), "$KEYS")
        for path in (home / "context/CCM.json", home / "context.txt")
    }
    RECORDING.write_text(json.dumps({"streams": streams, "contexts": files}, indent=1) + "\n")


async def reads_ours(js, nats, directory):
    """Raises AssertionError if the CLI does not read what we write."""
    values, objects = js.key_value("OURS"), js.objects("OURS")
    await make_bucket(values, history=2)
    await values.put("a.b", b"value")
    await values.put("gone", b"1")
    await values.delete("gone")
    assert nats("kv", "get", "OURS", "a.b", "--raw").strip() == b"value"
    assert nats("kv", "ls", "OURS").split() == [b"a.b"]
    await make_store(objects)
    await objects.put("x/y ä.tgz", CONTENT)
    await objects.put("gone", b"1")
    await objects.delete("gone")
    nats("object", "get", "OURS", "x/y ä.tgz", "--output", directory / "out", "--no-progress", "--force")
    assert (directory / "out").read_bytes() == CONTENT
    assert b"gone" not in nats("object", "ls", "OURS")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        trio.run(record, sys.argv[1], Path(scratch))
