"""Runs of the engine for a command: loading, state directory, signals, reloading."""
