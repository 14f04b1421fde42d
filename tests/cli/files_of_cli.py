"""What a command may have done to a file."""


def written(path):
    """What a write of content or attributes would move. Reading may move the access time."""
    status = path.stat()
    return status.st_ino, status.st_mode, status.st_mtime_ns, status.st_ctime_ns
