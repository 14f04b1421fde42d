"""Sinks of engine events: text, progress bar, summary, JSON lines, the systemd journal.

- ``style``: colours;
- ``open_problems``: keeps the resources that are not as desired now, and why;
- ``text``, ``jsonlines``: events as lines, for people and for programs;
- ``journald``: lines and events as entries of the systemd journal;
- ``run_header``, ``progress``, ``summary``: the output before, during and after convergence;
- ``writer``: writes lines to a descriptor without waiting for a slow reader;
- ``display``: combines these modules to show one run;
- ``status_lines``, ``history_lines``: lines for `reactor status`, and for events from the journal.

Sinks only read events. rich is imported only for a terminal.
"""
