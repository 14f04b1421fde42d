"""Many hosts. A run on one host imports nothing of this package.

- ``documents``: the JSON documents that hosts and operators exchange: canonical bytes, limits, typed fields;
- ``rollout/``: decides which host takes which release and when: pure functions on data;
- ``bundle/``: bundles: a directory packed into one file, named by its digest; the host's store of bundles, and the one
  in force;
- ``release/``: signed releases: documents, signatures, the checks of a host, and its store on disk;
- ``enrolment/``: the documents that are exchanged when a host joins: cards, tokens, requests;
- ``wire/``: the protocol of NATS without I/O; nkeys, credentials and JWTs;
- ``link/``: the client of NATS on trio: connection, JetStream, key-value buckets, object stores;
- ``sources/``: manifests, data and values in NATS, read and followed; registrations of a run, published;
- ``registry/``: the registry of services in the formats of CCM;
- ``push/``: brings a bundle to hosts over ssh, in waves, and collects the results;
- ``operator/``: the operator's side: accounts, streams, releases, rollouts and their driver;
- ``bucket_names``: the names of buckets and streams;
- ``summary``, ``host_spec``: the status that a host reports, and its settings by operators: channels, groups, holds,
  pins;
- ``slot_holder``: the host and resource that hold a slot;
- ``sealed_secret``: a secret that is encrypted to one host, and signed;
- ``shared_value``: a value that a host shares;
- ``event_batch``: the events that hosts send, in batches;
- ``debounced_event``: waits for an event, and merges events that come close together;
- ``host/``: the host's side: follows channels, switches releases, reports;
- ``testing``: simulated hosts, with the real link and the real host's side.
"""
