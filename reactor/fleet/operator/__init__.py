"""What operators do: make the accounts and streams of a fleet, publish releases, act on rollouts, drive them.

- ``keyring``: the keys of the operator and of the accounts, in one directory;
- ``accounts``: the two accounts and what a host may do, as JWTs;
- ``server_config``: the part of the configuration of nats-server that names the accounts;
- ``streams``: the streams, and how they are made and kept as they should be;
- ``clock``: the time of the servers;
- ``channels``: the states of channels, read and changed by compare-and-set;
- ``publishing``: bundles and signed releases in the object store;
- ``views``: the hosts of a channel, as the driver needs them;
- ``drive``: the process that moves waves, under a lease;
- ``session``: a connection of an operator;
- ``releasing``: from a directory to a rollout;
- ``overview``: what there is to see of a channel;
- ``slots``: who holds which slot;
- ``hosts``: admits hosts by hand, and keeps what is particular to each.
"""
