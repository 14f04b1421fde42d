"""The live page: the graph of a running converger as it is now, in a browser, and pauses from there.

- ``token``, ``access``, ``request_guard``: who may see the page, and the checks before every answer;
- ``graph_json``: the picture of the graph, by a program of its own;
- ``drawing``: the picture that is in force;
- ``status_stream``, ``event_buffer``, ``diffs``: how resources stand, what has happened, and what that has changed;
- ``page_history``: what the journal adds to that; ``details``: everything about one resource;
- ``page_stream``: the stream of all that, told at fixed times; ``sse``: the same to one client;
- ``time_slice``: long work in pieces, so that a repair goes first;
- ``application``: the routes; ``page/``: what the browser gets;
- ``live_page``: all of it together, for one run.

`docs/live-page.md` describes what comes of it.
"""
