"""Running commands, for every kind that needs one: in a process group of its own, which ends as a whole.

`command` starts one and waits for it, `perform` runs one that must succeed, `group` ends what is left, `family` knows
what that is, `output` keeps what it wrote, `quoting` makes words of its text.
"""

from resources.process.command import ENVIRONMENT, Command, Completed, run
from resources.process.output import last_words
from resources.process.perform import missing_rights, perform
from resources.process.quoting import split_words

__all__ = [
    "ENVIRONMENT",
    "Command",
    "Completed",
    "last_words",
    "missing_rights",
    "perform",
    "run",
    "split_words",
]
