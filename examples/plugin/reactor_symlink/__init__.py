"""An example of a third party's package: the kind ``symlink``, and a watcher for named pipes."""
