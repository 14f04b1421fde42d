"""What would give a secret away: pieces of it in thirteen encodings."""

import base64
import json
import urllib.parse


def pieces(secret):
    """What would give the secret away: eight characters of it in a row, in any encoding, at any place.

    No piece has fewer than eight characters: shorter ones are in keys and digests by chance.
    """
    for word in (secret[:16], secret[-8:]):
        for at in range(len(word) - 7):
            part = word[at : at + 8]
            raw = part.encode()
            yield from (
                part,
                part.upper(),
                part[::-1],
                raw.hex(),
                raw.hex().upper(),
                raw.hex(":"),
                raw.hex(" "),
            )
            for before in range(3):
                # These bytes share no group of three with a neighbour.
                first, last = -before % 3, 8 - (before + 8) % 3
                yield base64.b64encode(raw[first:last]).decode()
    yield from (secret, urllib.parse.quote(secret), json.dumps(secret)[1:-1])


def leaks(secret, output):
    text = output.decode(errors="replace") if isinstance(output, bytes) else output
    return [piece for piece in pieces(secret) if piece in text]
