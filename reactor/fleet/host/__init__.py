"""The host's side: follows channels, verifies, switches releases, and reports.

An event on the network says only "look": the host then reads the documents and verifies them. Only verified
bundles are run, and nothing here stops the run: without network the release in force stays.

- ``ports``: the interfaces to the host: its identity, its disk, its run;
- ``fetch``: reads releases and pins from the network or the disk, and verifies them; downloads bundles;
- ``follow``: follows one channel; ``look_rate``: limits how often it, and others here, read;
- ``refusals``: reports what fails again and again;
- ``reporting``: sends the newest summary, not too often, and the events of the journal;
- ``fleet_host``: puts these parts together for one host;
- ``disk``: the releases on the disk of a real host;
- ``root_manifest``: the manifest that the run of a real host follows;
- ``slots``: takes slots, so that at most N hosts change at once; ``leases``: keeps them;
- ``secrets``: keeps the secrets of the host as encrypted files;
- ``shares``: publishes the values that the host shares; ``shared_values``: reads the values of other hosts for
  expressions;
- ``config``: the configuration of a real host;
- ``keys``: the keys that a host makes for itself;
- ``join``: lets a host join a fleet; ``renewal``: renews its credentials.
"""
