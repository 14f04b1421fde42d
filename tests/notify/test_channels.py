"""Messages to real servers on loopback: a webhook, a mail server and a command; hostile ones, too."""

import json
import os
import queue
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import trio
import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword
from ports import free_port

from reactor.engine.events import AuditFound, Cause, Checked, Flapping, ReloadRejected, Result
from reactor.manifest.notify_channels import Channel
from reactor.notify import run_notifications
from reactor.notify.alerts import Alert
from reactor.notify.errors import SendError
from reactor.notify.message import Message
from reactor.notify.run_notifications import Notifications
from reactor.notify.sender import send

FORGED = "file#/tmp/a\r\nBcc: victim@example.org\r\n\r\nforged body"
ALERT = Alert("failed", "file#/etc/motd", "no space left", 1000.0)
MESSAGE = Message("ops", "site.yaml", [ALERT])
GUARD = 60
"""Seconds: it only ends what hangs."""


class Hook:
    def __init__(self):
        self.got = queue.Queue()
        self.status = 204
        self.location = None


@pytest.fixture(scope="module")
def hook_server():
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(hook.status)
            if hook.location:
                self.send_header("Location", hook.location)
            self.send_header("Content-Length", "0")
            hook.got.put((hook.status, dict(self.headers), body))
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    hook.url = f"http://127.0.0.1:{server.server_port}/hook"
    yield hook
    server.shutdown()
    server.server_close()


@pytest.fixture
def hook(hook_server):
    hook_server.got = queue.Queue()
    hook_server.status, hook_server.location = 204, None
    return hook_server


async def received(hook):
    return await trio.to_thread.run_sync(lambda: hook.got.get(timeout=GUARD))


async def test_a_webhook_gets_the_json_of_the_message(hook):
    await send(Channel(webhook={"url": hook.url, "headers": {"Authorization": "Bearer x"}}), MESSAGE)
    _, headers, body = await received(hook)
    assert (headers["Authorization"], headers["Content-Type"]) == ("Bearer x", "application/json")
    found = json.loads(body)
    assert found["alerts"] == [
        {"status": "failed", "kind": "failed", "ref": "file#/etc/motd", "reason": "no space left",
         "began": 1000.0, "ended": None, "times": 1}
    ]  # fmt: skip


def test_what_a_channel_does_not_say_is_30_s_5_min_4_h_and_30_s():
    channel = Channel(command=("/bin/true",))
    times = (channel.group_wait, channel.group_interval, channel.repeat_interval, channel.timeout)
    assert times == (30, 5 * 60, 4 * 3600, 30)


async def test_a_template_makes_the_body(hook):
    body = '{"text": {{ toJSON(Notification.subject) }}, "count": {{ len(Notification.alerts) }}}'
    await send(Channel(webhook={"url": hook.url, "body": body}), MESSAGE)
    found = json.loads((await received(hook))[2])
    assert found["count"] == 1
    assert found["text"].endswith(": 1 failed")


async def test_a_template_that_fails_says_why(hook):
    with pytest.raises(SendError, match="the template for the body fails"):
        await send(Channel(webhook={"url": hook.url, "body": "{{ Notification.txt }}"}), MESSAGE)


@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://127.0.0.1:1/", "/hook"])
async def test_a_redirect_is_not_followed(hook, location):
    hook.status, hook.location = 307, location
    with pytest.raises(SendError, match="answers 307") as found:
        await send(Channel(webhook={"url": hook.url}), MESSAGE)
    assert "redirects are not followed" in found.value.hint
    await received(hook)
    assert hook.got.empty()


@contextmanager
def raw_server(talk):
    """Yield the address of a server that talks as a hostile one would."""
    listener = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def serve():
        while not ended.is_set():
            try:
                peer, _ = listener.accept()
                with peer:
                    talk(peer, ended)
            except OSError:
                continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        ended.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def endless_body(peer, ended):
    peer.recv(65536)
    peer.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not ended.is_set():
        peer.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")


def endless_head(peer, ended):
    peer.recv(65536)
    peer.sendall(b"HTTP/1.1 200 OK\r\n")
    while not ended.is_set():
        peer.sendall(b"X-Filler: " + b"x" * 60000 + b"\r\n")


def slow_drip(peer, ended):
    while not ended.wait(0.05):
        peer.sendall(b"H")


def silence(_peer, ended):
    ended.wait(2 * GUARD)


@pytest.mark.parametrize("talk", [endless_body, endless_head, slow_drip, silence])
@pytest.mark.parametrize("kind", ["webhook", "mail"])
async def test_a_hostile_server_keeps_no_message_longer_than_the_timeout(talk, kind):
    with raw_server(talk) as port, trio.fail_after(GUARD):
        if kind == "webhook":
            channel = Channel(webhook={"url": f"http://127.0.0.1:{port}/"}, timeout="400ms")
        else:
            channel = Channel(mail=mail_to(port, tls="none"), timeout="400ms")
        try:
            await send(channel, MESSAGE)
        except SendError:
            pass
        else:
            assert (talk, kind) == (endless_body, "webhook"), "the status was read, and the rest is not"


def lines_without_end(peer):
    while True:
        peer.sendall(b"220-" + b"x" * 500 + b"\r\n")


def drip_without_end(peer):
    while True:
        peer.sendall(b"H")
        time.sleep(0.02)


@pytest.mark.parametrize("tls", ["none", "implicit"])
@pytest.mark.parametrize("endless", [lines_without_end, drip_without_end])
async def test_no_thread_stays_with_a_mail_server_that_answers_without_end(endless, tls):
    left = threading.Event()

    def talk(peer, _ended):
        try:
            endless(peer)
        except OSError:
            left.set()

    with raw_server(talk) as port:
        with pytest.raises(SendError):
            await send(Channel(mail=mail_to(port, tls=tls), timeout="400ms"), MESSAGE)
        assert await trio.to_thread.run_sync(left.wait, GUARD)


async def test_an_answer_of_a_mail_server_is_not_read_for_ever():
    too_long = pytest.raises(SendError, match="answers more than 65536 bytes")
    with raw_server(lambda peer, _ended: lines_without_end(peer)) as port, too_long:
        await send(Channel(mail=mail_to(port, tls="none"), timeout="60s"), MESSAGE)


class Box:
    def __init__(self):
        self.letters = []
        self.logins = []

    async def handle_RCPT(self, _server, _session, envelope, address, _options):  # noqa: N802 - a name of the library
        if address.startswith("nobody@"):
            return "550 5.1.1 no such\x1b user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server, _session, envelope):  # noqa: N802 - a name of the library
        self.letters.append(envelope)
        return "250 accepted"


def mail_to(port, **more):
    return {
        "to": ["ops@example.org"],
        "from": "reactor@example.org",
        "server": "127.0.0.1",
        "port": port,
        **more,
    }


@pytest.fixture(scope="module")
def mail_server(tmp_path_factory):
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    ca_file = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(ca_file)
    box = Box()

    def authenticate(_server, _session, _envelope, _mechanism, data):
        box.logins.append(data)
        good = isinstance(data, LoginPassword) and data.password == b"mail-S3cr3t"
        return AuthResult(success=good, handled=False)

    controller = Controller(
        box, hostname="127.0.0.1", port=free_port(), tls_context=context, require_starttls=True, auth_required=True,
        authenticator=authenticate,
    )  # fmt: skip
    controller.start()
    box.port, box.ca_file = controller.port, str(ca_file)
    yield box
    controller.stop()


@pytest.fixture
def box(mail_server):
    mail_server.letters.clear()
    return mail_server


def secure(box, **more):
    return mail_to(box.port, **{"user": "ops", "password": "mail-S3cr3t", "ca_file": box.ca_file, **more})


async def test_a_mail_is_sent_after_starttls_and_login(box):
    await send(Channel(mail=secure(box)), MESSAGE)
    [letter] = box.letters
    assert letter.rcpt_tos == ["ops@example.org"]
    assert b"file#/etc/motd" in letter.content
    assert b"mail-S3cr3t" not in letter.content


async def test_no_name_can_add_a_header_field_or_a_recipient(box):
    alerts = [Alert("failed", FORGED, "reason\r\n.\r\nMAIL FROM:<x@example.org>\r\n", 1000.0)]
    await send(Channel(mail=secure(box)), Message("ops\r\nBcc: v@example.org", FORGED, alerts, is_test=True))
    [letter] = box.letters
    head, _, body = letter.content.partition(b"\r\n\r\n")
    assert letter.rcpt_tos == ["ops@example.org"]
    assert not [line for line in letter.content.split(b"\r\n") if line.startswith((b"Bcc:", b"MAIL"))]
    assert b"forged body" not in head
    assert body


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        ({"password": "wrong"}, "answers 535", "it says: 5.7.8 Authentication credentials invalid"),
        ({"ca_file": None}, "the certificate of the mail server is refused", "ca_file"),
        (
            {"tls": "none", "user": None, "password": None},
            "answers 530",
            "Must issue a STARTTLS command first",
        ),
        ({"tls": "implicit"}, "speaks no TLS", "starttls for 587"),
        ({"to": ["nobody@example.org"]}, "refuses every recipient", r"550 5.1.1 no such\x1b user"),
    ],
)
async def test_a_mail_that_is_not_accepted_says_why_and_what_to_do(box, change, message, hint):
    with pytest.raises(SendError, match=message) as caught:
        await send(Channel(mail=secure(box, **change)), MESSAGE)
    assert hint in caught.value.hint
    assert box.letters == []


async def test_who_does_not_get_a_mail_is_named_though_others_get_it(box):
    refused = await send(Channel(mail=secure(box, to=["ops@example.org", "nobody@example.org"])), MESSAGE)
    assert refused == r"the mail server refuses nobody@example.org: 550 5.1.1 no such\x1b user"
    assert [letter.rcpt_tos for letter in box.letters] == [["ops@example.org"]]


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file away")
@pytest.mark.parametrize("channel", ["mail", "webhook"])
async def test_another_user_does_not_choose_the_servers_that_are_trusted(box, tmp_path, channel):
    ca_file = tmp_path / "ca.pem"
    shutil.copy(box.ca_file, ca_file)
    os.chown(ca_file, 12345, 12345)
    webhook = {"url": f"https://127.0.0.1:{box.port}/", "ca_file": str(ca_file)}
    made = Channel(mail=secure(box, ca_file=str(ca_file))) if channel == "mail" else Channel(webhook=webhook)
    with pytest.raises(SendError, match=r"ca_file can't be trusted: .* belongs to 12345") as found:
        await send(made, MESSAGE)
    assert found.value.hint == f"chown root {ca_file}; or trust them: --trust-owner 12345"
    assert box.letters == []


async def test_a_password_is_not_sent_to_a_server_without_starttls():
    seen = []

    def talk(peer, _ended):
        peer.sendall(b"220 here\r\n")
        while line := peer.recv(1000):
            seen.append(line)
            peer.sendall(b"250-here\r\n250 AUTH PLAIN\r\n" if line.startswith(b"ehlo") else b"250 ok\r\n")

    with raw_server(talk) as port:
        mail = mail_to(port, user="ops", password="mail-S3cr3t")
        with pytest.raises(SendError, match="no STARTTLS"):
            await send(Channel(mail=mail, timeout="60s"), MESSAGE)
    assert not any(line.upper().startswith(b"AUTH") for line in seen)


async def test_a_command_reads_the_json(tmp_path):
    await send(Channel(command=("/usr/bin/tee", str(tmp_path / "got"))), MESSAGE)
    assert json.loads((tmp_path / "got").read_text())["channel"] == "ops"


@pytest.mark.parametrize(
    ("command", "limit", "message"),
    [
        (("/bin/false",), "60s", "exit code 1"),
        (("/bin/missing",), "60s", "can't be started"),
        (("/bin/sh", "-c", "sleep 60 & exec sleep 60"), "300ms", "took more than 0.3 s"),
    ],
)
async def test_a_command_that_fails_says_why(command, limit, message):
    with pytest.raises(SendError, match=message):
        await send(Channel(command=command, timeout=limit), MESSAGE)


def failed(ref, at=1000.0):
    return Checked(at, ref, Result.FAILED, Cause.INITIAL, 0.1, error="no space left")


def well(ref, at=2000.0):
    return Checked(at, ref, Result.OK, Cause.RETRY, 0.1)


def notifications(channels, directory, warnings, **more):
    may_have = ["file#/a", "file#/b", "file#/c"].__contains__
    directory = None if directory is None else str(directory)
    return Notifications(channels, "site.yaml", may_have, directory, warnings.append, is_single=False, **more)


@pytest.fixture
def sending(monkeypatch):
    """The messages that are being sent: meanwhile the clock stands still."""
    messages = []

    async def noted(channel, message):
        messages.append(message)
        try:
            await send(channel, message)
        finally:
            messages.remove(message)

    monkeypatch.setattr(run_notifications, "send", noted)
    return messages


async def attempts(hook, mock_clock, sending, seconds):
    """Let ``seconds`` pass, from one attempt to the next. Return what the server got."""
    found, end = [], trio.current_time() + seconds
    while trio.current_time() < end:
        mock_clock.jump(5)
        await trio.testing.wait_all_tasks_blocked()
        while sending:
            await trio.testing.wait_all_tasks_blocked(0.001)
        while not hook.got.empty():
            found.append(hook.got.get())
    return found


async def test_a_server_that_is_down_for_an_hour_loses_nothing_and_gets_no_flood(
    hook, mock_clock, sending, tmp_path, nursery
):
    warnings = []
    channel = Channel(webhook={"url": hook.url}, timeout="300s")
    running = notifications({"ops": channel}, tmp_path, warnings)
    await nursery.start(running.run)
    hook.status = 503
    running(failed("file#/a"))
    running(failed("file#/b"))
    refused = await attempts(hook, mock_clock, sending, 1800)
    running(well("file#/b"))
    running(failed("file#/c", 2500.0))
    running(AuditFound(2600.0, "file#/a"))
    running(Flapping(2700.0, "file#/c", {"wrote it": 9}))
    running(ReloadRejected(2800.0, ("site.yaml:1:1: wrong",)))
    refused += await attempts(hook, mock_clock, sending, 1800)
    assert 10 <= len(refused) <= 30
    assert len(warnings) == 1
    hook.status = 204
    [(_, _, body)] = await attempts(hook, mock_clock, sending, 310)
    told = {(each["ref"], each["kind"]): each["status"] for each in json.loads(body)["alerts"]}
    assert told == {
        ("file#/a", "failed"): "failed",
        ("file#/b", "failed"): "recovered",
        ("file#/c", "failed"): "failed",
        ("file#/a", "drift"): "drift",
        ("file#/c", "flapping"): "flapping",
        ("manifest", "failed"): "failed",
    }
    assert warnings[1:] == ["notify ops: messages are delivered again"]
    assert await attempts(hook, mock_clock, sending, 3600) == []
    nursery.cancel_scope.cancel()


async def test_a_refused_recipient_is_warned_of_once_and_the_others_get_each_message_once(
    autojump_clock, tmp_path, nursery, monkeypatch
):
    sent, warnings = [], []

    async def accepted_for_some(_channel, message):
        sent.append([alert.ref for alert in message.alerts])
        return "the mail server refuses nobody@example.org: 550 no such user"

    monkeypatch.setattr("reactor.notify.run_notifications.send", accepted_for_some)
    running = notifications({"ops": Channel(command=("/bin/true",))}, tmp_path, warnings)
    await nursery.start(running.run)
    for ref in ("file#/a", "file#/b"):
        running(failed(ref))
        await trio.sleep(3600)
    assert sent == [["file#/a"], ["file#/b"]]
    assert warnings == [
        "notify ops: the mail server refuses nobody@example.org: 550 no such user; the others get the message"
    ]
    nursery.cancel_scope.cancel()


async def test_what_could_not_be_sent_is_kept_over_a_restart(hook, mock_clock, tmp_path):
    channel = Channel(webhook={"url": hook.url}, timeout="300s")
    hook.status = 503
    async with trio.open_nursery() as nursery:
        running = notifications({"ops": channel}, tmp_path, [])
        await nursery.start(running.run)
        running(failed("file#/a"))
        running(failed("file#/b"))
        running(failed("file#/gone"))
        await trio.testing.wait_all_tasks_blocked()  # the task that saves has begun to wait
        mock_clock.jump(1)
        while not (tmp_path / "notifications.json").exists():
            await trio.testing.wait_all_tasks_blocked(0.001)
        mock_clock.jump(30)
        assert (await received(hook))[0] == 503
        nursery.cancel_scope.cancel()  # as by kill -9: nothing is written at the end
    assert (tmp_path / "notifications.json").stat().st_mode & 0o777 == 0o600
    hook.status = 204
    async with trio.open_nursery() as nursery:
        running = notifications({"ops": channel}, tmp_path, [])
        await nursery.start(running.run)
        running(well("file#/b"))
        mock_clock.jump(31)
        _, _, body = await received(hook)
        told = {each["ref"]: each["status"] for each in json.loads(body)["alerts"]}
        assert told == {"file#/a": "failed", "file#/b": "recovered", "file#/gone": "recovered"}
        nursery.cancel_scope.cancel()


async def test_a_damaged_file_of_alerts_is_as_none(hook, mock_clock, tmp_path):
    for content in (b"", b"{", b"[]", b'{"version": 1, "written": "x", "channels": {}}', b"\xff" * 100):
        (tmp_path / "notifications.json").write_bytes(content)
        async with trio.open_nursery() as nursery:
            running = notifications({"ops": Channel(webhook={"url": hook.url})}, tmp_path, [])
            await nursery.start(running.run)
            running(failed("file#/a"))
            mock_clock.jump(31)
            _, _, body = await received(hook)
            assert [each["ref"] for each in json.loads(body)["alerts"]] == ["file#/a"]
            nursery.cancel_scope.cancel()


def test_a_run_without_channels_and_secrets_imports_neither():
    code = """
import sys
from reactor.cli.group import reactor
sys.argv = ["reactor", "run", "--converge-once", "/dev/stdin"]
try:
    reactor()
except SystemExit:
    pass
print([name for name in sys.modules if name.startswith(("reactor.notify", "reactor.secrets."))
       or name in ("smtplib", "cryptography", "pyrage")])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], input="resources: []\n", capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "['reactor.secrets.reader']"
