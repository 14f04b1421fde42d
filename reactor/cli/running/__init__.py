"""The work behind commands that is more than a page: mostly runs of the engine, and what belongs to them.

One ``reactor run``, in the order of its life:

- ``converge``: loads the manifest and puts everything below together; ``foresight``: the warnings before it,
  with ``template_faults``: those about templates;
- ``state``: the state directory, locked, with journal and backups; ``state_guard``: restores its files when they vanish;
- ``engine_run``: runs the engine with its services; ``signals``: stops it in steps; ``heap``: keeps its memory small;
- ``reloading``: passes edited manifests to the engine; ``loaded_files``: which files those were made of;
  ``incremental_load``: reads only the edited items; ``turns``: lets repairs go before a load; ``url_events``: when
  URLs are asked again; ``last_valid``: what a run starts with while the newest version at a URL is invalid;
- ``companions``: the tasks beside the engine; ``network``: those for the values of a network;
- ``answering``: lets an active run do the work of one-shot runs.

A run that finds nothing to do is proved without importing any of that:

- ``run_proof``: the proof of a one-shot run; ``run_evidence``: writes what it needs;
- ``receive_proof`` and ``receive_evidence``: the same for a push; ``provable_manifest``: which manifests they can prove;
- ``proof``: what both have in common.

Other commands:

- ``restoring``: of ``restore``, for one file; ``restoring_since``: for all that have changed since a time;
- ``single_resource``: of ``ensure`` and ``show``; ``agent``: of ``agent``; ``registration``: of ``registration``;
- ``pushing``: of ``push``; ``receiving``: its other end on the host; ``receive_session``: hands that to a standby
  process; ``following``: waits until a run that follows a bundle has taken it;
- ``fleet``: what the commands of a fleet share; ``fleet_session``: the connection of one command;
- the host in a fleet: ``fleet_host`` runs its releases, with ``fleet_manifest``, ``fleet_status``, ``fleet_journal``;
- operators of a fleet: ``fleet_enrolment``, ``fleet_releases``, ``fleet_diff``, ``fleet_secrets``, ``fleet_views``,
  ``fleet_backup``, ``fleet_counts``, ``fleet_events``, ``fleet_inspection``; ``fleet_page`` and ``fleet_metrics``
  serve the page of a fleet.
"""
