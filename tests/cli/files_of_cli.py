"""The files that commands are run on, and what may have been done to them."""


def put(path, text):
    """Replace a file in one step, as editors do: nobody sees half of it."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    new.replace(path)


def written(path):
    """What a write of content or attributes would move. Reading may move the access time."""
    status = path.stat()
    return status.st_ino, status.st_mode, status.st_mtime_ns, status.st_ctime_ns
