"""The kind ``firewall``: one table of nftables, in one transaction.

`property_types` has the form of rules and services, and `ruleset` writes them as a file for nft. `kernel` reads the table as a
digest, and `nft` runs the program. `trial` takes a change back that is not confirmed, and `boot` sets the table at boot.
"""

from reactor.resources.firewall.kind import Firewall

__all__ = ["Firewall"]
