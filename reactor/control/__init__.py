"""Control of a running converger: what it knows, over a Unix socket, and pauses.

- ``names``, ``status_query``: which resources people mean, and what they want to see of them;
- ``status_table``: how every resource stands, from the events; ``last_run``: the same from the journal, when nothing runs;
- ``pause_file``: their file; ``pause_controller``: what they do to a running engine;
- ``run_handle``: all that can be asked about one run, and asked of it; it knows nothing of HTTP;
- ``broadcast``: the events of a run, to any number of readers;
- ``explanation``: the story of one resource, in sentences;
- ``requests``, ``application``, ``http_errors``: the routes, what is wrong with a request, and how that is told;
- ``address``, ``socketpath``, ``tcp_listener``, ``server``: where it listens;
- ``peer``, ``connection_slots``: who has connected, and who gives up a place when there are too many; ``hostname``: by which name;
- ``connection``: HTTP on one connection;
- ``metrics``: the numbers over HTTP;
- ``control``: all of it together, for one run;
- ``client``: the other side, for ``reactor status`` and its like; ``refused_request``: that what they ask is not done.

`docs/control.md` describes what comes of it.
"""
