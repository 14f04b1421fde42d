"""The network kinds `link`, `address` and `route`, which use rtnetlink(7), the kernel's interface for them.

`link`, `address` and `route` are the kinds, and `property_types` their property types. A link also has `link_properties`,
`link_state`, `link_observer`, `link_planner` and `link_requests`. `rtnetlink` talks to the kernel, and `frame_table` holds an answer; `link_table`, `address_table`,
`routing_table` and `route_dump` read and change its tables. `losses` finds the things that the kernel
removes together with a link or address, and `preflight` checks what a dry run can check.
`boot_files` keeps the files for the next boot. `networkd`, `ifupdown` and `netplan` say what is in them, and
`boot_configuration` chooses one of the three.
"""

from reactor.resources.network.address import Address
from reactor.resources.network.link import Link
from reactor.resources.network.route import Route

__all__ = ["Address", "Link", "Route"]
