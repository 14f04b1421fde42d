"""The graph as a PNG image, drawn by Graphviz when it is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping

from reactor.errors import ReactorError
from reactor.graph.export import dot
from reactor.graph.graph import Graph


class GraphvizError(ReactorError):
    """Graphviz is missing or failed; the message says how to fix it."""

    code = "R0706"


def render(graph: Graph, states: Mapping[str, str] | None = None) -> bytes:
    """``graph`` as a PNG. Raises GraphvizError when there is no ``dot`` on the PATH, or it fails."""
    if (program := shutil.which("dot")) is None:
        raise GraphvizError(
            "png needs Graphviz, and there is no 'dot' on the PATH: install the package graphviz "
            "(apt install graphviz, dnf install graphviz), or take svg or html, which need nothing"
        )
    text = dot.render(graph, states).encode()
    done = subprocess.run([program, "-Tpng"], input=text, capture_output=True, check=False)
    if done.returncode:
        raise GraphvizError(f"dot failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
