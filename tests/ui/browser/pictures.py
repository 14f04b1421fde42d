"""Make the pictures of the documentation: a small shop whose database can't be migrated. ``scripts/pictures`` calls it."""

import base64
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from chromium import browser
from live_pages import OWN, PageTab, file, served, write_manifest

SHOP = Path("/srv/shop")
CONFIG = SHOP / "nginx/conf.d/shop.conf"
SERVER = """server {
    listen 443 ssl;
    server_name shop.example.org;
    client_max_body_size 64m;
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
}
"""
FOLDER = {**OWN, "ensure": "directory", "mode": "0755"}
FILES = {
    SHOP: FOLDER,
    SHOP / "nginx": FOLDER,
    SHOP / "nginx/conf.d": FOLDER,
    SHOP / "app.env": file("DATABASE=shop\n"),
    SHOP / "schema.sql": file("create table orders (id integer);\n"),
    SHOP / "motd": file("This host is kept by reactor.\n"),
    SHOP / "nginx/nginx.conf": file("include conf.d/*.conf;\n"),
    CONFIG: file(SERVER),
}
COMMANDS = {
    "migrate database": {"command": "false", "subscribe": f"file#{SHOP}/schema.sql"},
    "restart shop": {
        "command": "true",
        "require": "exec#migrate database",
        "subscribe": f"file#{SHOP}/app.env",
        "refreshonly": True,
    },
    "warm the cache": {"command": "true", "require": "exec#restart shop"},
    "reload nginx": {
        "command": "true",
        "refreshonly": True,
        "subscribe": [f"file#{CONFIG}", f"file#{SHOP}/nginx/nginx.conf"],
    },
}


def take(tab, path):
    """Write what the tab shows, once nothing moves in it."""
    tab.wait("!page.view.glide && page.drawing.pulses.size === 0")
    path.write_bytes(base64.b64decode(tab.order("Page.captureScreenshot", format="png")["data"]))


def main(directory):
    """Write the pictures to ``directory``."""
    with TemporaryDirectory() as scratch, browser(Path(scratch) / "profile") as wire:
        manifest = write_manifest(Path("/srv/shop.yaml"), file=FILES, exec=COMMANDS)
        with served(manifest, "--state-dir", Path(scratch) / "state") as url:
            tab = PageTab(wire)
            tab.visit(url)
            tab.counted("blocked", 2)
            CONFIG.write_text(SERVER.replace("64m", "1m"))
            tab.wait("document.getElementById('timeline').innerText.includes('updated the content')")
            tab.select(f"file#{CONFIG}")
            tab.wait("document.querySelector('pre.diff')")
            take(tab, directory / "live-page.png")
            tab.prefer(color_scheme="dark")
            tab.select("exec#warm the cache")
            tab.wait("document.querySelector('#resource .badge.blocked')")
            take(tab, directory / "live-page-dark.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
