"""The operator's side: makes the accounts and streams of a fleet, publishes releases, changes and drives rollouts.

- ``keyring``: the keys of the operator and of the accounts, in one directory;
- ``credentials_life``: how long the credentials of an operator are good;
- ``accounts``: the two accounts and the permissions of a host, as JWTs;
- ``server_config``: the part of the configuration of nats-server that names the accounts;
- ``cluster``: the state of the servers and of their cluster;
- ``doctor``: finds faults of files, servers and streams;
- ``streams``: makes the streams, and updates their configuration;
- ``clock``: the time of the servers;
- ``channels``: the states of channels, read and changed by compare-and-set;
- ``views``: the hosts of a channel, as the driver needs them;
- ``drive``: the process that moves waves, under a lease;
- ``session``: a connection of an operator;
- ``quorum``: leaves a server that has lost the others of its cluster;
- ``releasing``: from a directory to a rollout;
- ``stored_releases``: bundles and releases in the object store: published, found, signed, pinned, removed;
- ``known_hosts``: all hosts and channels, read at once;
- ``live_fleet``: the same, kept up to date;
- ``where``: chooses hosts by an expression;
- ``overview``: the summary of a channel for people;
- ``explanation``: explains why a host has its release;
- ``failures``: what failed on all hosts, grouped;
- ``events``: the events of all hosts;
- ``counting``: the counts of each channel, for large fleets;
- ``hosts``: admits hosts by hand, and changes their specs;
- ``invitations``: makes tokens, and counts how often each was used;
- ``admission``: answers hosts that ask to join, or for new credentials;
- ``expulsion``: revokes the keys of a host, and deletes its stored data;
- ``revocation``: revokes users of an account;
- ``account_update``: gives the JWT of an account to the servers, and finds out which have taken it; ``account_lookup``: asks
  all servers for the one that they have; ``cluster_members``: which servers there are;
- ``backup``: saves all streams into a file; ``restoring``: restores them;
- ``public_keys``: the public keys of the fleet and its hosts;
- ``errors``: the errors of enrolment;
- ``shared_state``: the held slots, and the values that hosts share;
- ``secrets``: sets secrets of hosts; ``secret_keys``: the age key of operators; ``stored_secrets``: lists them.
"""
