"""Control of an active run: its status over a Unix socket, pauses, events and metrics.

- ``protocol``: shared by both ends of the socket; ``client``: the end that ``reactor status`` and other commands use;
- ``names``: finds the resources that a name or a glob matches;
- ``status_table``: the status of every resource, from the events;
- ``last_run``: the same from the journal, when no run is active; ``refused_run``: the last run, if it did not begin;
- ``pause_file``: the file of the pauses; ``pause_controller``: applies them to a running engine;
- ``run_handle``: answers all requests about one run, without HTTP;
- ``broadcast``: sends the events of a run to any number of readers;
- ``full_checks``: the stream of the answer to a one-shot run that asks for its work;
- ``explanation``: the history of one resource, in sentences, for ``reactor why``;
- ``application``: the routes; ``requests``: bodies of requests, and answers to bad requests;
- ``listen_address``, ``tcp_listener``, ``server``: the addresses and sockets that a run listens on;
- ``peer``: the user at the other end of a connection;
- ``connection_slots``: the limit of connections, and which one is closed when there are too many;
- ``connection``: HTTP on one connection;
- ``metrics``: the metrics over HTTP;
- ``control``: combines these modules for one run.

`docs/control.md` describes the routes.
"""
