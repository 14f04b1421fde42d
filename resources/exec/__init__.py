"""The kind `exec`: runs a command when its guards, its history or a refresh ask for it."""

from reactor.resources.exec.kind import Exec, ExecState

__all__ = ["Exec", "ExecState"]
