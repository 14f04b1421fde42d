"""Control of a running converger: what it knows, over a Unix socket, and pauses."""
