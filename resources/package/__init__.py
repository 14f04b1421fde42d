"""The kind `package`: software from the package manager of the host.

`kind` has the properties, `planner` the table of what is to be done, `version_choice` that of which version is installed,
`provider` what both package managers have in common, `apt` and `dnf` what differs: a database of what is installed
(`dpkg_database`, `rpm_database`), a catalog of what there is to install (`apt_policy`, `dnf_answers`), and how to ask for
changes.
"""

from reactor.resources.package.kind import Package
from reactor.resources.package.planner import PackageState

__all__ = ["Package", "PackageState"]
