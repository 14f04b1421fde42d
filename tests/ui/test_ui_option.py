"""``reactor run --ui``: the option, and the page of real processes over real files."""

import json
import os
import re
import socket
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
import trio
from files_of_cli import put
from page_worlds import GUARD, reading
from processes_of_cli import environment, finish, pids_running, refused, spawned, wait_until

from reactor.control.listen_address import Address
from reactor.resource.redaction import MASK
from reactor.ui.access import FILE

ONE = 'resources:\n  - file:\n      - {dir}/a: { ensure: present, content: "x\\n", {own} }\n'
TWO = ONE + "      - {dir}/b: { ensure: present, content: y, require: ['file#{dir}/a'], {own} }\n"


class Shown:
    """The page of a process: ``url`` as it was told, and what it answers."""

    def __init__(self, process):
        self.process = process
        told = re.match(r"reactor: the live page is at (http://\S+)\n", process.stderr.readline().decode())
        self.url = told[1]
        parts = urlsplit(self.url)
        self.origin = f"http://{parts.netloc}"
        self.address = Address(parts.hostname, parts.port)
        self.token = parts.query.removeprefix("token=")
        self.known = {"Authorization": f"Bearer {self.token}"}

    def get(self, path, **options):
        return httpx.get(self.origin + path, timeout=GUARD, headers=self.known, **options)

    def post(self, path, body):
        headers = {"Origin": self.origin, **self.known}
        return httpx.post(self.origin + path, json=body, headers=headers, timeout=GUARD)

    def reading(self):
        return reading(self.address, token=self.token)

    def settled(self, **options):
        """The graph, once nothing has yet to be checked for the first time."""

        def look():
            graph = self.get("/graph", **options).json()
            return graph if all(map(_rests, graph["status"].items())) else None

        return wait_until(look)


def _rests(item):
    ref, told = item
    return not told["in_motion"] and (told["state"] != "unknown" or MASK in ref)


@contextmanager
def shown(manifest, *options, address="127.0.0.1:0"):
    with spawned("run", "--ui", address, *options, manifest) as process:
        yield Shown(process)
        process.terminate()
        assert "Traceback" not in finish(process).err


async def test_a_file_that_drifts_is_seen_repaired_with_its_diff_and_why(tmp_path, manifest):
    site = manifest(TWO)
    file = tmp_path / "a"
    with shown(site) as page:
        await trio.to_thread.run_sync(page.settled)
        async with page.reading() as stream:
            _, _, first = await stream.next()
            put(file, "oops\n")
            event = await stream.until(
                "event", lambda event: event.get("result") == "changed" and event["causes"] == ["drift"]
            )
            await stream.runs(converged=True)
        told = (await trio.to_thread.run_sync(page.get, f"/resource?ref=file%23{file}")).json()
        past = (await trio.to_thread.run_sync(page.get, "/events")).json()["events"]
        async with page.reading() as stream:
            await stream.next()
            put(site, site.read_text().replace("x\\n", "z\\n"))
            await stream.until("event", lambda event: event.get("causes") == ["intent"])
    assert set(first["vertices"]) == {f"file#{file}", f"file#{tmp_path}/b"}
    assert event["ref"] == told["ref"] == f"file#{file}"
    assert event["actions"] == ["updated the content"]
    assert "\n-oops\n+x\n" in told["diff"]["text"]
    assert told["place"] == f"{site}:3:9"
    assert told["properties"]["content"] == "x\n"
    assert f"file#{file} was changed " in told["why"][0]
    assert "something outside of reactor had changed it" in told["why"][1]
    assert told["events"][-1]["causes"] == ["drift"]
    assert [each["causes"][0] for each in past if each.get("ref") == f"file#{file}"] == ["initial", "drift"]
    assert file.read_text() == "z\n"


def test_a_reload_is_on_the_page(tmp_path, manifest):
    site = manifest(ONE)
    with shown(site) as page:
        before = page.settled()
        manifest(TWO)
        after = wait_until(lambda: (found := page.settled())["edition"] > 1 and found)
    assert [vertex["name"] for vertex in before["vertices"]] == [f"{tmp_path}/a"]
    assert [vertex["name"] for vertex in after["vertices"]] == [f"{tmp_path}/a", f"{tmp_path}/b"]
    assert [edge["kind"] for edge in after["edges"]] == ["require"]
    assert after["run"]["generation"] == 2


def test_what_is_being_undone_is_on_the_page_until_it_is(tmp_path, manifest):
    undone = f"file#{tmp_path}/b"
    with shown(manifest(TWO.replace("content: y", "content: y, meta: {reverse: true}"))) as page:
        page.settled()
        page.post("/pause", {"refs": [undone], "for": "1h", "reason": "x"})
        manifest(ONE)
        left = wait_until(lambda: (found := page.get("/graph").json())["edition"] > 1 and found)
        detail = page.get(f"/resource?ref=file%23{tmp_path}/b").json()
        assert (tmp_path / "b").exists()
        page.post("/resume", {"refs": []})
        gone = wait_until(lambda: (found := page.get("/graph").json())["edition"] > left["edition"] and found)
    assert left["status"][undone]["activity"] == "waiting"
    assert undone in [vertex["ref"] for vertex in left["vertices"]]
    assert detail["properties"]["ensure"] == "absent"
    assert [vertex["ref"] for vertex in gone["vertices"]] == [f"file#{tmp_path}/a"]
    assert not (tmp_path / "b").exists()


def test_the_events_of_earlier_runs_come_first(manifest):
    site = manifest(ONE)
    with shown(site) as page:
        page.settled()
    with shown(site) as page:
        page.settled()
        page.post("/pause", {"refs": [], "for": "1m", "reason": "x"})
        events = page.get("/events").json()["events"]
    assert [(each["event"], each.get("result")) for each in events if each["event"] != "watcherchanged"] == [
        ("checked", "changed"),
        ("ended", None),
        ("paused", None),
    ]
    ids = [each["id"] for each in events]
    assert ids == sorted(set(ids))


@pytest.mark.parametrize(("mode", "state"), [("--noop", "would_change"), ("--monitor-only", "ok")])
def test_a_dry_run_is_shown_too(tmp_path, manifest, mode, state):
    with shown(manifest(ONE), mode) as page:
        graph = page.settled()
        told = page.get(f"/resource?ref=file%23{tmp_path}/a").json()
        refused = page.post("/pause", {"refs": [], "for": "1m", "reason": "x"})
    assert graph["run"]["pausable"] is False
    assert told["status"]["state"] == state
    assert told["why"] is None
    assert refused.status_code == 409
    assert not (tmp_path / "a").exists()


# ---- secrets ----

SECRET = "hunter2-correct-horse"

SECRETIVE = """
data:
  password: {secret}  # @secret
resources:
  - file:
      - {dir}/shown: { ensure: present, content: "password={{ Data.password }}\\n", {own} }
  - exec:
      - fails:
          command: sh -c 'echo $WORD; echo wrong $WORD >&2; exit 3'
          environment: ["WORD={{ Data.password }}"]
          logoutput: true
          require: ["file#{dir}/shown"]
"""


async def test_no_answer_holds_a_secret(tmp_path, manifest):
    site = manifest(SECRETIVE.replace("{secret}", SECRET))
    with shown(site) as page:
        graph = await trio.to_thread.run_sync(page.settled)
        async with page.reading() as stream:
            await stream.next()
            put(tmp_path / "shown", "drifted\n")
            await stream.until(
                "event", lambda event: event.get("causes") == ["drift"] and event["result"] == "changed"
            )
            heard = json.dumps(stream.heard)
        answers = [await trio.to_thread.run_sync(page.get, path) for path in ("/graph", "/events?limit=1000")]
        for vertex in graph["vertices"]:
            ask = httpx.QueryParams({"ref": vertex["ref"]})
            answers.append(await trio.to_thread.run_sync(page.get, f"/resource?{ask}"))
    resources = {answer.json().get("ref"): answer.json() for answer in answers}
    assert resources["exec#fails"]["status"]["state"] == "failed"
    assert resources[f"file#{tmp_path}/shown"]["properties"]["content"] == MASK
    assert "+password=[secret]" in resources[f"file#{tmp_path}/shown"]["diff"]["text"]
    assert any("wrong" in line for line in resources["exec#fails"]["why"])
    for text in (heard, *(answer.text for answer in answers)):
        assert SECRET not in text
        assert SECRET.encode().hex() not in text
    assert (tmp_path / "shown").read_text() == f"password={SECRET}\n"


# ---- the command line ----


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--ui", "8470"], "'8470' is not HOST:PORT, as in 127.0.0.1"),
        (["--ui", "host.example:8470"], "'host.example' is not an IP address"),
        (["--ui", "127.0.0.1:65536"], "65536 is not a port"),
        (
            ["--ui", "127.0.0.1:0", "--converge-once"],
            "--ui needs a continuous run hint: remove --converge-once",
        ),
        (["--ui", "192.0.2.1:8470"], "can't listen on 192.0.2.1:8470: Cannot assign requested address"),
    ],
)
def test_an_address_that_is_unusable_is_refused_before_anything_happens(
    tmp_path, manifest, options, complaint
):
    done = refused(manifest(ONE), *options)
    assert done.code == 2
    assert complaint in " ".join(done.err.split())
    assert "Traceback" not in done.err
    assert not (tmp_path / "a").exists()


def test_a_port_that_is_taken_ends_the_command(tmp_path, manifest):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = refused(manifest(ONE), "--ui", f"127.0.0.1:{port}")
    assert done.code == 2
    assert f"error[R0704]: can't listen on 127.0.0.1:{port}: Address already in use" in done.err
    assert "hint: name another address with --ui" in done.err
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_page_has_a_token_that_stays_the_same(manifest, state_directory, host):
    site, urls = manifest(ONE), []
    for _ in range(2):
        with shown(site, address=f"{host}:0") as page:
            urls.append(urlsplit(page.url))
            origin = f"http://127.0.0.1:{urls[-1].port}"
            assert httpx.get(f"{origin}/graph", timeout=GUARD).status_code == 401
            with httpx.Client(base_url=origin, timeout=GUARD, follow_redirects=True) as browser:
                assert (home := browser.get(f"/?{urls[-1].query}")).status_code == 200
                assert browser.get(home.url.join("graph")).status_code == 200
    kept = state_directory / FILE
    assert [url.query for url in urls] == [f"token={kept.read_text().strip()}"] * 2
    assert kept.stat().st_mode & 0o777 == 0o600
    assert urls[0].hostname == (host if host == "127.0.0.1" else socket.gethostname().lower())


def test_the_token_is_reported_again_to_the_owner_and_is_on_no_command_line(manifest, reactor):
    with shown(manifest(ONE)) as page:
        wait_until(lambda: reactor("status").code == 0)
        told, record = reactor("ui"), reactor("ui", "--format", "json")
        assert pids_running(page.token) == []
        assert page.token.encode() not in Path(f"/proc/{page.process.pid}/environ").read_bytes()
    assert (told.code, told.out) == (0, f"{page.url}\n")
    assert json.loads(record.out) == {"url": page.url}
    gone = reactor("ui")
    assert (gone.code, gone.out) == (2, "")
    assert "error[R0604]: no run is active on " in gone.err


def test_a_run_without_a_page_says_so(manifest, reactor):
    with spawned("run", manifest(ONE)) as process:
        wait_until(lambda: reactor("status").code == 0)
        told = reactor("ui")
        process.terminate()
    assert (told.code, told.out) == (2, "")
    assert told.err == "error[R0606]: this run has no live page\nhint: start it with --ui 127.0.0.1:8470\n"


def test_the_token_is_in_no_output_but_the_line_at_the_start(manifest, reactor):
    with spawned("run", "--ui", "127.0.0.1:0", "--diff", "--format", "json", manifest(ONE)) as process:
        page = Shown(process)
        page.settled()
        metrics = page.get("/metrics").text + reactor("status", "--all", "--format", "json").out
        events = page.get("/events").text + page.get("/graph").text
        process.terminate()
        done = finish(process)
    assert (
        page.token not in done.out + done.err + metrics + events + reactor("events", "--format", "json").out
    )


def inside_the_journal(descriptor):
    found = os.fstat(descriptor)
    return environment(JOURNAL_STREAM=f"{found.st_dev}:{found.st_ino}")


def test_the_token_is_not_written_to_the_journal_of_the_system(manifest, state_directory):
    reader, writer = os.pipe()
    inside = inside_the_journal(writer)
    with (
        open(reader, encoding="utf-8") as told,
        spawned("run", "--ui", "127.0.0.1:0", manifest(ONE), stderr=writer, env=inside) as process,
    ):
        os.close(writer)
        line = told.readline()
        process.terminate()
        rest = told.read()
    token = (state_directory / FILE).read_text().strip()
    assert line.endswith("/; 'reactor ui' shows its address with the token\n")
    assert token not in line + rest


def test_the_token_is_not_written_to_a_file_that_others_may_read(tmp_path, manifest, state_directory):
    log = tmp_path / "log"
    with log.open("wb") as said:
        log.chmod(0o644)
        with spawned("run", "--ui", "127.0.0.1:0", manifest(ONE), stderr=said) as process:
            wait_until(lambda: "the live page is at" in log.read_text())
            process.terminate()
            process.wait(GUARD)
    assert (state_directory / FILE).read_text().strip() not in log.read_text()


def test_a_dry_run_whose_token_no_one_could_learn_is_refused(tmp_path, manifest):
    reader, writer = os.pipe()
    inside = inside_the_journal(writer)
    with (
        open(reader, encoding="utf-8") as told,
        spawned("run", "--noop", "--ui", "127.0.0.1:0", manifest(ONE), stderr=writer, env=inside) as process,
    ):
        os.close(writer)
        said = told.read()
        assert process.wait(GUARD) == 2
    assert "the token of the page can't be shown" in said
    assert not (tmp_path / "a").exists()


def test_a_token_that_can_not_be_kept_ends_the_command(tmp_path, manifest, state_directory):
    state_directory.mkdir(mode=0o700)
    (state_directory / FILE).mkdir()
    with spawned("run", "--ui", "127.0.0.1:0", manifest(ONE)) as process:
        done = finish(process)
    assert done.code == 2
    assert "error[R0602]: can't store the token of the page: " in done.err
    assert not (tmp_path / "a").exists()


def test_only_the_page_gets_diffs_that_were_not_asked_for(tmp_path, manifest):
    with spawned("run", "--ui", "127.0.0.1:0", manifest(ONE)) as process:
        page = Shown(process)
        page.settled()
        told = page.get(f"/resource?ref=file%23{tmp_path}/a").json()
        process.terminate()
        done = finish(process)
    assert f"+++ {tmp_path}/a\n" in told["diff"]["text"]
    assert "+++" not in done.out
    assert "changed  created the file" in done.out
