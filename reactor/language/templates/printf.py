"""Go's Printf: verbs, flags, widths, and its output for invalid verbs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from reactor.language.templates.budget import current_budget
from reactor.language.templates.literals import escaped, quote
from reactor.language.templates.values import go_type, sorted_keys, string_of
from reactor.language.values import float_to_string

_VERB: Final = re.compile(
    r"%([-+# 0]*+)((?:\[\d++\])?\*|\d++)?+(?:(\.)((?:\[\d++\])?\*|\d++)?+)?+(\[\d++\])?(.?)", re.DOTALL
)
_DIGITS: Final = {"b": "b", "o": "o", "O": "o", "x": "x", "X": "X", "d": "d"}
_PREFIXES: Final = {"b": "0b", "o": "0", "x": "0x", "X": "0X"}
_PRECISION: Final = 6
_MAX_WIDTH: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class _Spec:
    flags: str
    width: int | None
    precision: int | None
    verb: str

    def has(self, flag: str) -> bool:
        return flag in self.flags

    def padded(self, text: str, *, zeros: bool = False) -> str:
        """Pad ``text`` to the width. Zeros are inserted after the sign."""
        if self.width is None or len(text) >= self.width:
            return text
        if self.has("-"):
            return text.ljust(self.width)
        if zeros and self.has("0"):
            return text.zfill(self.width)
        return text.rjust(self.width)


class _Arguments:
    """The values that were not printed yet."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values
        self._next = 0
        self.reordered = False

    def select(self, index: str | None) -> None:
        """Select the next argument by ``[3]``, counted from 1."""
        if index:
            self._next = _small(index[1:-1]) - 1
            self.reordered = True

    def take(self) -> tuple[bool, Any]:
        """Return whether there is another value, and that value."""
        if not 0 <= self._next < len(self._values):
            return False, None
        self._next += 1
        return True, self._values[self._next - 1]

    def left(self) -> Sequence[Any]:
        """Return the values that no verb used."""
        return () if self.reordered else self._values[self._next :]


def sprintf(pattern: str, values: Sequence[Any]) -> str:
    """Format ``values`` by ``pattern``. Raises LimitFault for a width that exceeds the budget."""
    arguments = _Arguments(values)
    parts: list[str] = []
    end = 0
    for found in _VERB.finditer(pattern):
        parts += (pattern[end : found.start()], _conversion(found, arguments))
        end = found.end()
    parts.append(pattern[end:])
    if left := arguments.left():
        extra = ", ".join(
            "<nil>" if value is None else f"{go_type(value)}={string_of(value)}" for value in left
        )
        parts.append(f"%!(EXTRA {extra})")
    return "".join(parts)


def _conversion(found: re.Match[str], arguments: _Arguments) -> str:
    flags, width, dot, precision, index, verb = found.groups()
    if verb == "%":
        return "%"
    size = _number(width, arguments)
    if size is not None and size < 0:
        flags, size = flags + "-", -size
    digits = _number(precision, arguments)
    if digits is None and dot:
        digits = 0
    current_budget().charge_characters(max(size or 0, digits or 0))
    arguments.select(index)
    if not verb:
        return "%!(NOVERB)"
    there, value = arguments.take()
    if not there:
        return (
            f"%!{verb}({'BADINDEX' if arguments.reordered else 'MISSING'})"
            if not index
            else f"%!{verb}(BADINDEX)"
        )
    current_budget().charge_value(value)
    return _print(_Spec(flags, size, digits, verb), value)


def _number(text: str | None, arguments: _Arguments) -> int | None:
    if text is None or not text.endswith("*"):
        return None if text is None else _small(text)
    arguments.select(text[:-1])
    _, value = arguments.take()
    return max(-_MAX_WIDTH, min(value, _MAX_WIDTH)) if isinstance(value, int) else None


def _small(digits: str) -> int:
    """Return the number, but at most `_MAX_WIDTH`. Python refuses to convert thousands of digits."""
    significant = digits.lstrip("0") or "0"
    return _MAX_WIDTH if len(significant) > len(str(_MAX_WIDTH)) else min(int(significant), _MAX_WIDTH)


def _print(spec: _Spec, value: Any) -> str:
    if spec.verb == "v" and spec.has("+"):
        spec = replace(spec, flags=spec.flags.replace("+", ""))
    if spec.verb == "T":
        return spec.padded("<nil>" if value is None else go_type(value))
    if value is None:
        return spec.padded("<nil>") if spec.verb == "v" else f"%!{spec.verb}(<nil>)"
    if isinstance(value, Mapping):
        return _of_map(spec, value)
    if isinstance(value, list | tuple):
        return _of_list(spec, value)
    for kind, verbs, printer in _PRINTERS:
        if isinstance(value, kind):
            return printer(spec, value) if spec.verb in verbs else _wrong(spec, value)
    return _wrong(spec, value)


def _wrong(spec: _Spec, value: Any) -> str:
    return f"%!{spec.verb}({go_type(value)}={string_of(value)})"


def _of_map(spec: _Spec, value: Mapping[Any, Any]) -> str:
    pairs = ((_print(spec, key), _item(spec, value[key])) for key in sorted_keys(value))
    if spec.verb == "v" and spec.has("#"):
        return f"{go_type(value)}{{{', '.join(f'{key}:{item}' for key, item in pairs)}}}"
    return f"map[{' '.join(f'{key}:{item}' for key, item in pairs)}]"


def _of_list(spec: _Spec, value: Sequence[Any]) -> str:
    if spec.verb == "v" and spec.has("#"):
        return f"{go_type(value)}{{{', '.join(_item(spec, item) for item in value)}}}"
    return f"[{' '.join(_item(spec, item) for item in value)}]"


def _item(spec: _Spec, value: Any) -> str:
    """Format an item of a list or map, where every verb accepts nil."""
    return spec.padded("<nil>") if value is None else _print(spec, value)


def _of_bool(spec: _Spec, value: bool) -> str:
    return spec.padded("true" if value else "false")


def _of_int(spec: _Spec, value: int) -> str:
    if spec.verb in "cqU":
        return spec.padded(_of_code(spec, value))
    verb = "d" if spec.verb == "v" else spec.verb
    digits = format(abs(value), _DIGITS[verb])
    zeros = spec.precision is None
    if spec.precision is not None:
        digits = "" if spec.precision == 0 and value == 0 else digits.zfill(spec.precision)
    prefix = "0o" if verb == "O" else _PREFIXES.get(verb, "") if spec.has("#") else ""
    sign = "-" if value < 0 else "+" if spec.has("+") else " " if spec.has(" ") else ""
    if zeros and spec.has("0") and not spec.has("-") and spec.width is not None:
        digits = digits.zfill(spec.width - len(sign))
    return spec.padded(sign + prefix + digits)


def _of_code(spec: _Spec, value: int) -> str:
    valid = 0 <= value <= 0x10FFFF and not 0xD800 <= value <= 0xDFFF  # noqa: PLR2004  defined by Unicode
    character = chr(value) if valid else "\ufffd"
    if spec.verb == "c":
        return character
    if spec.verb == "q":
        return f"'{escaped(character, chr(39), ascii_only=spec.has('+'))}'"
    return f"U+{value:04X}" + (f" '{character}'" if spec.has("#") else "")


def _of_float(spec: _Spec, value: float) -> str:
    text = _float_digits(spec, value)
    if not text.startswith("-") and (spec.has("+") or spec.has(" ")):
        text = ("+" if spec.has("+") else " ") + text.removeprefix("+")
    return spec.padded(text, zeros=math.isfinite(value))


def _float_digits(spec: _Spec, value: float) -> str:
    verb = "g" if spec.verb == "v" else spec.verb
    if not math.isfinite(value):
        return float_to_string(value)
    if verb in "gG" and spec.precision is None:
        return float_to_string(value) if verb == "g" else float_to_string(value).upper()
    precision = _PRECISION if spec.precision is None else spec.precision
    if verb in "xX":
        return _hexadecimal_float(value).upper() if verb == "X" else _hexadecimal_float(value)
    return format(value, f"{'#' if spec.has('#') else ''}.{precision}{'f' if verb == 'F' else verb}")


def _hexadecimal_float(value: float) -> str:
    mantissa, _, exponent = value.hex().partition("p")
    return (
        f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}p{exponent[0]}{exponent[1:]:0>2}"
    )


def _of_text(spec: _Spec, value: str) -> str:
    if spec.verb in "xX":
        return spec.padded(_hexadecimal(spec, value))
    text = value if spec.precision is None else value[: spec.precision]
    if spec.verb == "q":
        if spec.has("#") and "`" not in text and text.replace("\t", "").isprintable():
            return spec.padded(f"`{text}`")
        text = f'"{escaped(text, chr(34), ascii_only=spec.has("+"))}"'
    elif spec.verb == "v" and spec.has("#"):
        text = quote(text)
    return spec.padded(text, zeros=True) if not spec.has("0") else _zeros(spec, text)


def _zeros(spec: _Spec, text: str) -> str:
    """Pad with zeros in front of the whole string, because Go pads strings with zeros too."""
    return text.ljust(spec.width or 0) if spec.has("-") else text.rjust(spec.width or 0, "0")


def _hexadecimal(spec: _Spec, value: str) -> str:
    data = value.encode("utf-8", "replace")[: spec.precision]
    text = data.hex(" ") if spec.has(" ") else data.hex()
    if spec.has("#") and data:
        text = " ".join(f"0x{byte}" for byte in text.split(" ")) if spec.has(" ") else f"0x{text}"
    return text.upper() if spec.verb == "X" else text


_PRINTERS: Final[Sequence[tuple[type, str, Callable[[_Spec, Any], str]]]] = (
    (bool, "vt", _of_bool),
    (int, "vbcdoOqxXU", _of_int),
    (float, "vbeEfFgGxX", _of_float),
    (str, "vsxXq", _of_text),
)
