"""The kind `exec`: runs a command when its guards, its history or a refresh ask for it."""

from reactor.resources.exec.kind import Exec
from reactor.resources.exec.state import ExecState

__all__ = ["Exec", "ExecState"]
