"""How a run ends, asked of the code that decides it."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator

from generated.markdown import Generated, code, table
from reactor.cli import exitcodes
from reactor.engine.events import Ended, Result

_ENDS = {
    "all is as desired": (),
    "something changed, or with `--noop` would have": (Result.CHANGED,),
    "something failed, or is blocked": (Result.FAILED,),
    "both": (Result.CHANGED, Result.FAILED),
}


class ExitCodes(Generated):
    """The exit codes of ``run``."""

    def markdown(self) -> Iterable[str]:
        """A table, without and with ``--detailed-exitcodes``."""
        rows = [(words, code(str(plain)), code(str(detailed))) for words, plain, detailed in _rows()]
        return table(("how it ended", "exit code", "with `--detailed-exitcodes`"), rows)


def _rows() -> Iterator[tuple[str, int, int]]:
    for words, results in _ENDS.items():
        ended = _ended(results)
        plain, detailed = (exitcodes.run_code(ended, once=True, detailed=each) for each in (False, True))
        yield words, plain, detailed
    plain, detailed = (exitcodes.bad_usage_code(detailed=each) for each in (False, True))
    yield "bad usage, or an invalid manifest", plain, detailed
    for number in (signal.SIGINT, signal.SIGTERM):
        yield f"cut short by {number.name}", exitcodes.signal_code(number), exitcodes.signal_code(number)


def _ended(results: tuple[Result, ...]) -> Ended:
    counts = {str(result): int(result in results) for result in Result}
    return Ended(time=0.0, counts=counts, changes=counts[Result.CHANGED], duration=0.0, reason="")
