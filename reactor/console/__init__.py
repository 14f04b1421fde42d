"""Sinks of engine events for people and programs: text, progress bar, summary, JSON lines.

- ``style``, ``number_format``: how text looks, and durations, moments and counts in it;
- ``open_problems``: who is not as desired at this moment, and why;
- ``text``, ``jsonlines``: events as lines, for people and for programs;
- ``journald_entries``, ``journald``: events as entries of systemd's journal;
- ``run_header``, ``progress``, ``summary``: what is said before, while and after a run converges;
- ``writer``: lines to a descriptor, without waiting for a slow reader;
- ``display``: everything that shows one run;
- ``status_lines``, ``history_lines``: lines for `reactor status`, and for what the journal remembers.

They only read events. Nothing here imports trio at the top but `writer` and `progress`, and nothing imports rich
unless a terminal is there to show it.
"""
