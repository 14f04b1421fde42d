"""The protocol of NATS without I/O: parser, commands, headers, keys and credentials. It imports nothing of the project."""
