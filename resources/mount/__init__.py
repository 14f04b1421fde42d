"""The kind ``mount``: mount points and swap, now and after the next boot.

`kind` holds the properties, `state` the desired and the observed state, and `planner` is the decision table. `fstab`
reads and edits the table of the next boot, `mount_table` reads that of the kernel, and `comparison` finds out whether a
mount is as desired. `preflight` checks what a dry run can check, `fstypes` which types the host can't mount, `system`
mounts and unmounts, `kernel_log` reads why the kernel refused a mount, and `swap` does everything about swap.
"""

from reactor.resources.mount.kind import Mount

__all__ = ["Mount"]
