"""Health checks by the rules of goss, in this process: https://github.com/goss-org/goss/blob/master/docs/gossfile.md.

`runner` reads gossfiles and runs rules. `rules` lists the kinds of rules, and `rule` is their base class. The rules
are in `file`, `http`, `dns` (which asks `nameserver`), `network` (addr, interface, port), `software` (command,
package, process, service) and `system` (group, kernel-param, mount, user). `matchers` compares values, with the help
of `patterns` and `semver`.
"""

from reactor.resources.health.goss.runner import Goss

__all__ = ["Goss"]
