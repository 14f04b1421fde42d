"""Control of a running converger: its status over a Unix socket, pauses, events and metrics.

- ``protocol``: what both ends of the socket share; ``client``: the end of ``reactor status`` and other commands;
- ``names``: which resources a name or a glob matches;
- ``status_table``: the status of every resource, from the events; ``last_run``: the same from the journal, when nothing runs;
- ``pause_file``: the file of the pauses; ``pause_controller``: applies them to a running engine;
- ``run_handle``: everything a client can ask of one run, without HTTP;
- ``broadcast``: the events of a run, to any number of readers;
- ``explanation``: the history of one resource, in sentences, for ``reactor why``;
- ``application``: the routes; ``requests``: bodies of requests, and answers to bad ones;
- ``address``, ``tcp_listener``, ``server``: where it listens;
- ``peer``, ``connection_slots``: who is connected, and which connection is closed when there are too many;
- ``connection``: HTTP on one connection;
- ``metrics``: the metrics over HTTP;
- ``control``: all of it together, for one run.

`docs/control.md` describes the routes.
"""
