"""The section ``notify``: declares the channels for notifications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from reactor.manifest.declaration import Declaration
from reactor.manifest.expression_context import ExpressionContext
from reactor.manifest.nodes import INVALID, Mapping
from reactor.manifest.phrasing import shown
from reactor.manifest.source import Problems
from reactor.manifest.validation import Inspector
from reactor.manifest.values import ValueReader, Values, checked_map

if TYPE_CHECKING:
    from reactor.manifest.notify_channels import Channel

SECTION = "notify"
_HINT = "write each as 'NAME: {webhook: {url: URL}}'"
_TEMPLATE = "body"


def channels_in(
    root: Mapping, problems: Problems, expression_context: ExpressionContext
) -> dict[str, Channel]:
    """Return the channels that the manifest ``root`` declares, by name. Errors are added to ``problems``."""
    node = checked_map(SECTION, root, problems, _HINT)
    if node is None:
        return {}
    found = {name: _channel(node, name, problems, expression_context) for name in node}
    return {name: channel for name, channel in found.items() if channel is not None}


def _channel(
    node: Mapping, name: str, problems: Problems, expression_context: ExpressionContext
) -> Channel | None:
    """Return the declaration of one channel; None if it is not valid."""
    from reactor.manifest.notify_channels import Channel  # noqa: PLC0415 - most manifests declare no channels

    body = node[name]
    if not isinstance(body, Mapping):
        if body is not INVALID:
            message = f"a channel is a map, not {shown(body)}"
            problems.add("R0109", message, node.value_at(name), _HINT)
        return None
    values = ValueReader(problems, expression_context.scope).read(body, Channel, leave=("webhook",))
    _add_webhook(values, body, problems, expression_context)
    if values.invalid or values.deferred:  # without its secret, a channel can't send
        return None
    try:
        return Channel.model_validate(values.plain)
    except ValidationError as error:
        declaration = Declaration(node.key_at(name), body)
        Inspector(problems, Channel, declaration, f"the channel {name}").report(error, values)
        return None


def _add_webhook(
    values: Values, body: Mapping, problems: Problems, expression_context: ExpressionContext
) -> None:
    """Add the webhook. Its ``body`` stays as written: it is a template for each message."""
    from reactor.manifest.notify_channels import Webhook  # noqa: PLC0415 - most manifests declare no channels

    if "webhook" not in body:
        return
    webhook = body["webhook"]
    if not isinstance(webhook, Mapping):
        values.plain["webhook"] = webhook
        return
    read = ValueReader(problems, expression_context.scope).read(webhook, Webhook, leave=(_TEMPLATE,))
    template = {_TEMPLATE: webhook[_TEMPLATE]} if _TEMPLATE in webhook else {}
    values.plain["webhook"] = {**read.plain, **template}
    values.invalid |= {"webhook"} if read.invalid else set()
    values.deferred.update(read.deferred)
