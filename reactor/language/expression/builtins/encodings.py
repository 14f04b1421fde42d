"""Builtins that encode and decode values: JSON and base64."""

from __future__ import annotations

from typing import Any

from reactor.language import json_codec
from reactor.language.errors import FunctionError
from reactor.language.expression.builtins.signature import Builtin, builtin
from reactor.language.expression.limits import check_result_length


def _to_json(value: Any) -> str:
    return json_codec.encode(value, indent=2).translate(json_codec.FOR_HTML)


def _to_base64(value: str) -> str:
    import base64  # noqa: PLC0415

    check_result_length(2 * len(value))
    try:
        return base64.b64encode(value.encode("utf-8", "surrogateescape")).decode()
    except UnicodeEncodeError:
        raise FunctionError("the text is not valid UTF-8") from None


def _from_base64(value: str) -> str:
    import base64  # noqa: PLC0415

    try:
        return base64.b64decode(value.replace("\n", "").replace("\r", ""), validate=True).decode()
    except UnicodeDecodeError:
        raise FunctionError("the decoded bytes are not UTF-8 text") from None
    except ValueError:
        raise FunctionError("illegal base64 data") from None


BUILTINS: dict[str, Builtin] = {
    "toJSON": builtin(_to_json, "any", cost=20),
    "fromJSON": builtin(json_codec.decode, "string", cost=20),
    "toBase64": builtin(_to_base64, "string"),
    "fromBase64": builtin(_from_base64, "string"),
}
