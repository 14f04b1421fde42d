"""The kind ``mount``: what is mounted at a mount point, now and after the next boot.

`kind` holds the properties, `planner` is the decision table, and `system` makes the changes. `fstab` and `mount_table` read the two tables there are, that of the
next boot and that of the kernel; `options` and `devices` tell whether what one of them says is what is asked for.
"""

from reactor.resources.mount.kind import Mount

__all__ = ["Mount"]
