"""Builtins that convert values from one kind to another."""

from __future__ import annotations

import math
import re
from typing import Any

from reactor.language import json_codec
from reactor.language.errors import FunctionError
from reactor.language.expression.builtins.signature import Builtin, builtin
from reactor.language.expression.limits import check_result_length
from reactor.language.values import check_int64, kind, to_string

INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
FLOAT = re.compile(r"[+-]?(?:(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]+)?|(?i:inf(?:inity)?|nan))")
_LONGEST_NUMBER = 1000
_HTML = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def _int(value: Any) -> int:
    if isinstance(value, str):
        if INTEGER.fullmatch(value):
            return check_int64(int(value))
        raise FunctionError(f"invalid operation: int({value!r})", "the string must be an integer")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise FunctionError(f"invalid operation: int({to_string(value)})")
        return check_int64(int(value))
    return int(value)


def _float(value: Any) -> float:
    if isinstance(value, str) and (len(value) > _LONGEST_NUMBER or not FLOAT.fullmatch(value)):
        raise FunctionError(f"invalid operation: float({value!r})", "the string must be a number")
    return float(value)


def _to_json(value: Any) -> str:
    return json_codec.encode(value, indent=2).translate(_HTML)


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
    "type": builtin(kind, "any", shallow=True),
    "int": builtin(_int, "number|string"),
    "float": builtin(_float, "number|string"),
    "string": builtin(to_string, "any"),
    "toJSON": builtin(_to_json, "any", cost=20),
    "fromJSON": builtin(json_codec.decode, "string", cost=20),
    "toBase64": builtin(_to_base64, "string"),
    "fromBase64": builtin(_from_base64, "string"),
}
