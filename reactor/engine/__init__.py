"""The scheduler (a state machine without I/O), the trio driver around it, backoff, limits and events."""
