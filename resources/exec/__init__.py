"""The kind `exec`: runs a command once, when its guards allow it, or on a refresh."""

from reactor.resources.exec.kind import Exec, ExecState

__all__ = ["Exec", "ExecState"]
