"""The watchers that come with reactor: one module per event source."""
