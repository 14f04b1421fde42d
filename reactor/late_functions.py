"""Functions that attrs writes as text for each of its classes, each compiled when it is first called.

attrs compiles up to five functions for each class. trio and outcome have fifty such classes, and a run uses few of them.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from types import FunctionType
from typing import Any

_Names = dict[str, Any]
_Script = tuple[str, str]


def keep_script(text: str, filename: str, _mode: str) -> _Script:
    """Stand for `compile`."""
    return text, filename


def define_functions(script: _Script, names: _Names, found: _Names | None = None) -> None:
    """Stand for `eval`: define the functions of the script in ``found``. A script that has anything else is executed."""
    text, filename = script
    found = names if found is None else found
    lines = text.splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if line[0] not in " \n"]
    if not all(lines[start].startswith("def ") for start in starts):
        exec(compile(text, filename, "exec"), names, found)  # noqa: S102 - as attrs does
        return
    for start, end in pairwise([*starts, len(lines)]):
        name = lines[start][4 : lines[start].index("(")]
        source = "\n" * start + "".join(lines[start:end])  # at its place, for the lines in tracebacks
        found[name] = function = FunctionType(_late.__code__, names, name)
        function.__kwdefaults__ = {"_compiled": partial(_compiled, function, source, filename)}


def _late(*arguments: Any, _compiled: Any, **named: Any) -> Any:
    return _compiled()(*arguments, **named)


def _compiled(function: FunctionType, source: str, filename: str) -> FunctionType:
    """Compile the source, and make ``function``, which has been given out, the function that it defines; return it."""
    found: _Names = {}
    exec(compile(source, filename, "exec"), function.__globals__, found)  # noqa: S102 - as attrs does
    (real,) = found.values()
    function.__defaults__ = real.__defaults__
    # Another thread may be on its way from the call of the function to this one.
    function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), **(real.__kwdefaults__ or {})}
    function.__code__ = real.__code__
    return function
