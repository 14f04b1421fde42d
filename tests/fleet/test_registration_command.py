"""``reactor registration``: what it prints, and what is in the stream of a real server afterwards."""

import json
import signal

from nats_servers import PATIENCE
from nats_site import on
from processes_of_cli import environment, spawned

from reactor.fleet.registry.entry import Entry
from reactor.fleet.registry.stream import look_up

ENTRY = (
    "--cluster",
    "prod",
    "--service",
    "web",
    "--protocol",
    "http",
    "--address",
    "192.0.2.1",
    "--port",
    "80",
)
SHOWN = """Service: web @ prod

       Cluster: prod
      Protocol: http
       Service: web
            IP: 192.0.2.1
          Port: 80
      Priority: 100
   Annotations:
                zone: a

"""


def test_an_entry_is_created_shown_and_removed(site, reactor):
    stream = ("-R", site.bucket)
    subjects = "choria.ccm.registration.v1.>"
    done = reactor("registration", "init", *stream, "--max-age", "1h")
    assert (done.code, done.out[9:]) == (
        0, f"INFO  Registration stream ready stream={site.bucket} subjects=[{subjects}] replicas=1\n",
    ), done.err  # fmt: skip
    assert reactor("registration", "init", *stream, "--max-age", "1h").code == 0
    done = reactor("registration", "create", *ENTRY, "-A", "zone=a", "--ttl", "10m", *stream)
    fields = "cluster=prod service=web protocol=http address=192.0.2.1 port=80"
    assert done.out[9:] == f"INFO  Registration entry created {fields} priority=100\n", done.err
    entry = Entry("prod", "web", "http", "192.0.2.1", 80, 100, {"zone": "a"}, "10m0s")
    assert on(site.server, lambda js: look_up(js, ["*"] * 4, site.bucket)) == [entry]
    assert reactor("registration", "query", *stream).out == SHOWN
    assert json.loads(reactor("registration", "q", "prod", "--json", *stream).out) == [entry.record]
    assert "ttl: 10m0s" in reactor("registration", "query", "--yaml", *stream).out
    assert reactor("registration", "query", "other", *stream).out == "No results found\n"
    with spawned("registration", "watch", "--json", *stream, env=environment(**site.variables)) as process:
        assert json.loads(process.stdout.readline()) == {
            "action": "register",
            "entry": entry.record,
            "reason": "",
        }
        done = reactor("registration", "rm", *ENTRY, "--force", *stream)
        assert done.out[9:] == f"INFO  Registration entry removed {fields}\n"
        gone = json.loads(process.stdout.readline())
        assert (gone["action"], gone["reason"], gone["entry"]["address"]) == ("remove", "Purge", "192.0.2.1")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) in (130, -signal.SIGINT)
    assert on(site.server, lambda js: look_up(js, ["*"] * 4, site.bucket)) == []
    on(site.server, lambda js: js.delete_stream(site.bucket))


def test_what_is_wrong_is_named(site, reactor):
    done = reactor("registration", "query", "-R", "NONE")
    assert (done.code, done.out) == (1, "")
    assert "there is no stream NONE with registrations" in done.err
    assert "reactor registration init" in done.err
    assert reactor("registration", "query", "a.b").code == 2
    assert reactor("registration", "create", *ENTRY[:-1], "0").code == 2
    assert reactor("registration", "create", *ENTRY, "--ttl", "soon").code == 2
    assert reactor("registration", "query", "--context", "none").code == 1
