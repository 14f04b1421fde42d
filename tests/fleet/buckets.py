"""Makes buckets and object stores as the ``nats`` CLI does: those of a fleet are made by `reactor.fleet.operator.streams`."""

_DUPLICATE_WINDOW = 120_000_000_000  # in nanoseconds, as the server's


async def make_bucket(bucket, *, history=1, replicas=1, **more):
    """Make a `KeyValue` bucket; ``more``: fields of its stream."""
    await bucket.js.create_stream(
        bucket.stream,
        {
            "subjects": [f"{bucket.prefix}>"],
            "retention": "limits",
            "storage": "file",
            "max_msgs_per_subject": history,
            "num_replicas": replicas,
            "max_age": 0,
            "max_bytes": -1,
            "duplicate_window": _DUPLICATE_WINDOW,
            "discard": "new",
            "allow_rollup_hdrs": True,
            "deny_delete": True,
            "deny_purge": False,
            "allow_direct": True,
            **more,
        },
    )


async def make_store(store, **more):
    """Make an `ObjectStore`; ``more``: fields of its stream."""
    await store.js.create_stream(
        store.stream,
        {
            "subjects": [f"$O.{store.bucket}.C.>", f"$O.{store.bucket}.M.>"],
            "retention": "limits",
            "storage": "file",
            "num_replicas": 1,
            "max_bytes": -1,
            "discard": "new",
            "allow_rollup_hdrs": True,
            "allow_direct": True,
            **more,
        },
    )
