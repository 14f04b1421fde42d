"""What operators do: make the ground of a fleet, publish releases, act on rollouts, drive them.

- ``keyring``: the keys of the operator and of the accounts, in one directory;
- ``accounts``: the two accounts and what a host may do, as JWTs;
- ``server_config``: the part of the configuration of nats-server that names the accounts;
- ``streams``: the streams, and how they are made and kept as they should be.
"""
