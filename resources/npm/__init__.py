"""The kind ``npm``: packages of Node.js in a directory of their own."""

from reactor.resources.npm.kind import Npm

__all__ = ["Npm"]
