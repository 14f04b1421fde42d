"""What survives the process: the state directory with its lock, and in it the journal, an SQLite database.

- ``state_directory``: where state lives, and the lock on it;
- ``schema``: the tables, and how the database is opened;
- ``store``: the one connection that writes;
- ``refresh_log``: who owes a refresh to whom, in memory;
- ``digest``: what a resource is to be, in short, to tell an edit from a drift;
- ``undo_records``: how things were before they were first changed, for those that can be undone, in memory;
- ``recovery``: what of all that can be read out of a broken file;
- ``records``: which events are kept, and in what form;
- ``diffs``: what the changes were, apart from the events;
- ``write_buffer``: what waits to be written;
- ``row_validation``: whether what was read is in that form;
- ``journal``: the engine's memory and a sink of its events, made of all these;
- ``history``: reading it all, also while a run writes.
"""
