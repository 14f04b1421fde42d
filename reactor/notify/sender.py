"""Sends one message through a channel. A channel may be hostile: everything that it answers is bounded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import suppress
from functools import partial

import trio

from reactor.language.errors import ExpressionError
from reactor.manifest.notify_channels import Channel, Webhook
from reactor.notify.errors import SendError
from reactor.notify.message import Message
from reactor.trust.rule import DistrustedError

_ANSWER_BYTES = 64 * 1024
_SUCCESS = range(200, 300)
_PATH = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/usr/local/sbin"


async def send(channel: Channel, message: Message) -> str | None:
    """Send ``message``, in at most the timeout of ``channel``. Returns who does not get it though it was accepted.

    Raises SendError, which holds no secret.
    """
    refused = None
    with trio.move_on_after(channel.timeout) as limit:
        if channel.webhook is not None:
            await _post(channel.webhook, message, channel.timeout)
        elif channel.mail is not None:
            from reactor.notify.mail import send_mail  # noqa: PLC0415 - slow to import

            refused = await send_mail(channel.mail, message, channel.timeout)
        elif channel.command is not None:
            await _run(channel.command, message)
    if limit.cancelled_caught:
        raise SendError(f"it took more than {channel.timeout:g} s")
    return refused


async def _post(webhook: Webhook, message: Message, seconds: float) -> None:
    from reactor.http.client import http_response  # noqa: PLC0415 - slow to import
    from reactor.http.request import HttpError, HttpLimits, HttpRequest  # noqa: PLC0415
    from reactor.trust.authorities import tls_context  # noqa: PLC0415

    try:
        body = json.dumps(message.as_json()) if webhook.body is None else message.rendered(webhook.body)
    except ExpressionError as error:
        raise SendError(f"the template for the body fails: {error.message}", error.hint) from error
    fields = {"Content-Type": "application/json", **webhook.headers}
    trust = None if webhook.ca_file is None else partial(tls_context, webhook.ca_file)
    request = HttpRequest(webhook.url, "POST", tuple(fields.items()), content=body.encode(), trust=trust)
    try:
        async with http_response(request, HttpLimits(_ANSWER_BYTES, seconds, seconds, redirects=0)) as answer:
            status = answer.status  # the body of the answer is not read: it says nothing that is needed
    except HttpError as error:
        raise SendError(error.message, error.hint) from error
    except DistrustedError as error:
        raise SendError(f"ca_file can't be trusted: {error}", error.hint) from error
    except OSError as error:
        raise SendError(str(error.strerror or error), "check ca_file") from error
    if status not in _SUCCESS:
        hint = "redirects are not followed: write the URL that it leads to" if 300 <= status < 400 else None  # noqa: PLR2004
        raise SendError(f"the server answers {status}", hint)


async def _run(command: tuple[str, ...], message: Message) -> None:
    environment = {"PATH": _PATH, "LANG": "C.UTF-8"}
    try:
        done = await trio.run_process(
            list(command),
            stdin=json.dumps(message.as_json()).encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            env=environment,
            cwd="/",
            process_group=0,
            deliver_cancel=_kill_group,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SendError(f"{command[0]} can't be started: {reason}", "name it with its directory") from error
    except ExceptionGroup as group:  # the command has closed its standard input
        raise SendError(f"{command[0]} failed: {group.exceptions[0]}") from group
    if done.returncode != 0:
        raise SendError(f"{command[0]} failed with exit code {done.returncode}")


async def _kill_group(process: trio.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
