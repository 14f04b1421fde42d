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
- ``stored_releases``: releases in the object store: found, signed, pinned, removed;
- ``known_hosts``: all hosts and channels, read at once;
- ``live_fleet``: the same, kept up to date;
- ``where``: chooses hosts by what is known of them;
- ``overview``: what there is to see of a channel;
- ``explanation``: why a host has the release it has;
- ``failures``: what failed on all hosts, grouped;
- ``events``: the events of all hosts;
- ``counting``: the counts of each channel, for large fleets;
- ``hosts``: admits hosts by hand, and keeps what is particular to each;
- ``invitations``: makes tokens, and counts how often each was used;
- ``admission``: answers hosts that ask to join, or for new credentials;
- ``expulsion``: revokes the keys of a host, and deletes what is stored for it;
- ``errors``: the errors of enrolment;
- ``slots``: which host holds which slot; ``shared``: what hosts share.
"""
