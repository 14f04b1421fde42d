"""The state directory of a run: its lock, and the journal, an SQLite database.

- ``state_directory``: the directory and its lock;
- ``schema``: the tables, and functions that open the database;
- ``store``: the connection that writes;
- ``event_search``: finds events of one resource, by an index;
- ``retention``: how long events are kept, and their deletion;
- ``refresh_log``: the pending refreshes, in memory;
- ``digest``: digests of the desired state, to distinguish an edit of the manifest from drift;
- ``undo_records``: how to undo the resources with ``reverse: true``, in memory;
- ``recovery``: reads what can be read of a damaged file;
- ``records``: selects the events to keep, and converts them to rows; ``diffs``: the diffs of these events;
- ``write_buffer``: collects the data that waits to be written;
- ``row_validation``: checks the records that were read;
- ``writer``: writes the collected data in batches, and copes with a failing disk;
- ``journal``: combines these modules: it stores the state of the engine, and is a sink of its events;
- ``repeated_run``: adds the end of a run that was proven to change nothing, without the other modules;
- ``sent_events``: which events were sent to another program, and which were deleted before;
- ``history``: reads the journal, also while a run writes to it.
"""
