"""Sinks of engine events for people and programs: text, progress bar, summary, JSON lines.

They only read events. Nothing here imports trio at the top but `writer` and `progress`, and nothing imports rich
unless a terminal is there to show it.
"""
