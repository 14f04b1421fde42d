"""The kind ``firewall``: one table of nftables, in one transaction.

`kind` holds the properties and the plan, and `property_types` the form of rules and services. `ruleset` writes them as a
file for nft, and `nft_syntax` checks the text in them. `kernel` reads the table as a digest, and `nft` runs the program.
`record` keeps what was set, `trial` takes a change back that is not confirmed, and `boot` sets the table at boot.
"""

from reactor.resources.firewall.kind import Firewall

__all__ = ["Firewall"]
