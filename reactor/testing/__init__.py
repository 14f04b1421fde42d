"""The test kit for kinds and watchers: a contract suite, a scripted kind, a timeline on a jumping clock."""
