"""The live page: shows the graph of an active run in a browser, and can pause resources.

- ``access``, ``request_guard``: the token of the page, and the checks before every answer;
- ``graph_json``: lays out the graph, in a separate process; ``drawing``: keeps the current layouts;
- ``status_stream``, ``event_buffer``: changes of status, recent events and diffs;
- ``page_stream``: sends these to the browser, at fixed intervals;
- ``details``: everything about one resource; ``page_history``: what the journal has of it;
- ``application``: the routes; ``page/``: the files for the browser;
- ``live_page``: combines these modules for one run;
- ``fleet_application``: the routes of the page of a fleet; ``fleet_page/``: its files for the browser.

`docs/live-page.md` describes the page and its routes.
"""
