"""The rules of goss, carried out in this process: https://github.com/goss-org/goss/blob/master/docs/gossfile.md.

`rules` holds all there are, one module each; `rule` is what they have in common, `matchers` what they expect, `runner`
tries them.
"""

from reactor.resources.health.goss.runner import Goss

__all__ = ["Goss"]
