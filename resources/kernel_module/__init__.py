"""The kind ``kernel_module``: a module of the running kernel, and the files that load, set up or forbid it at boot."""

from reactor.resources.kernel_module.kind import KernelModule

__all__ = ["KernelModule"]
