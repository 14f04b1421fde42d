"""The live page: the graph of a running converger in a browser, with pauses.

- ``access``, ``request_guard``: the token of the page, and the checks before every answer;
- ``graph_json``: lays out the graph, in a process of its own; ``drawing``: the layout in force;
- ``status_stream``, ``event_buffer``: changes of status, recent events and diffs;
- ``details``: everything about one resource, also from the journal;
- ``page_stream``: the stream of all that to the browser, at fixed times;
- ``time_slice``: splits long work into pieces, so that a repair goes first;
- ``application``: the routes; ``page/``: the files for the browser;
- ``live_page``: all of it together, for one run.

`docs/live-page.md` describes the page and its routes.
"""
