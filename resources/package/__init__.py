"""The kind `package`: software from the package manager of the host.

`kind` holds the properties, `properties` their types, and `planner` is the decision table. `providers` chooses the
provider: `apt` or `dnf`, with the base classes in `observer` (reads the state of packages) and `provider` (changes
packages). A provider has a database of installed packages (`database`, `dpkg_database`, `rpm_database`) and a catalog
of available ones (`catalog`), compares versions (`dpkg_versions`, `rpm_versions`), runs programs (`commands`) and
parses their output (`apt_answers`, `dnf_answers`, `error_lines`). `transaction` describes what else a transaction
changes. `package_files` installs packages from files and URLs, and `debconf` answers the questions of packages.
"""

from reactor.resources.package.kind import Package
from reactor.resources.package.planner import PackageState

__all__ = ["Package", "PackageState"]
