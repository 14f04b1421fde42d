"""The kind `package`: software from the package manager of the host.

`kind` holds the properties, `property_checks` the rules for names and versions, and `planner` is the decision table.
`providers` chooses the provider: `apt` or `dnf`, with the base classes in `observer` (reads the state of packages) and
`provider` (changes packages). A provider has a database of installed packages (`database`, `dpkg_database`,
`rpm_database`) and a catalog of available ones (`catalog`), compares versions (`dpkg_versions`, `rpm_versions`), runs
programs (`commands`, `apt_arguments`), parses their output (`apt_answers`, `dnf_answers`, `error_lines`) and reads what
dnf keeps in files (`dnf_files`). `transaction` describes
what else a transaction changes, `file_conflicts` which files it would overwrite, and `apt_trust` what apt can't authenticate. `locks` waits for other package
managers. `package_files` installs packages from files and URLs, whose signatures `rpm_signatures` verifies. `debconf`
answers the questions of packages.
"""

from reactor.resources.package.kind import Package
from reactor.resources.package.planner import PackageState

__all__ = ["Package", "PackageState"]
