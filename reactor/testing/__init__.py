"""The test kit for kinds and watchers: a contract suite, a scripted kind, and an engine to run on a test clock."""
