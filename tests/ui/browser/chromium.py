"""A real headless Chromium, driven over the DevTools protocol through a pair of pipes.

https://chromedevtools.github.io/devtools-protocol/ : messages are JSON, each ended by a NUL.
"""

import json
import os
import select
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from itertools import count

DEADLINE = 60.0
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--mute-audio", "--hide-scrollbars", "--force-color-profile=srgb",
    "--disable-features=Translate,OptimizationHints,MediaRouter", "--remote-debugging-pipe",
)  # fmt: skip


class BrowserError(AssertionError):
    """The browser, or a script in it, did not do as it was told."""


@contextmanager
def browser(directory):
    """Start Chromium with its profile in ``directory``. Nothing of it outlives the block."""
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    # The browser wants descriptors 3 and 4; dash can't redirect what has two digits.
    redirected = 'exec chromium "$@" 3<&"$ORDERS" 4>&"$ANSWERS"'
    process = subprocess.Popen(
        ["bash", "-c", redirected, "chromium", *_FLAGS, f"--user-data-dir={directory}"],
        env={**os.environ, "ORDERS": str(to_read), "ANSWERS": str(from_write), "HOME": str(directory)},
        pass_fds=(to_read, from_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    os.close(to_read)
    os.close(from_write)
    try:
        yield Wire(to_write, from_read)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(to_write)
        os.close(from_read)


class Wire:
    """Orders to the browser and its answers; what it tells unasked is kept in ``told``."""

    def __init__(self, orders, answers):
        self._orders = orders
        self._answers = answers
        self._numbers = count(1)
        self._rest = b""
        self.told = []

    def order(self, method, session=None, **params):
        """Send one order and wait for its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        os.write(
            self._orders, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0"
        )
        deadline = time.monotonic() + DEADLINE
        while True:
            answer = self._next(deadline, method)
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.told.append(answer)

    def _next(self, deadline, method):
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise BrowserError(f"no answer to {method} in {DEADLINE:.0f} s")
            part = os.read(self._answers, 1 << 20)
            if not part:
                raise BrowserError("the browser is gone")
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)


class Tab:
    """One page of the browser, and what a person does with it."""

    def __init__(self, wire, *, width=1400, height=850):
        self._wire = wire
        self._target = wire.order("Target.createTarget", url="about:blank")["targetId"]
        attached = wire.order("Target.attachToTarget", targetId=self._target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.order(f"{domain}.enable")
        self.resize(width, height)

    def order(self, method, **params):
        return self._wire.order(method, self._session, **params)

    def close(self):
        self._wire.order("Target.closeTarget", targetId=self._target)

    def open(self, url):
        self.order("Page.navigate", url=url)

    def before_each_page(self, script):
        """Run ``script`` in every page before any of its own."""
        self.order("Page.addScriptToEvaluateOnNewDocument", source=script)

    def resize(self, width, height):
        self.order(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def prefer(self, **features):
        """Pretend that the person prefers something, as in ``color_scheme="dark"``."""
        wanted = [{"name": f"prefers-{name.replace('_', '-')}", "value": v} for name, v in features.items()]
        self.order("Emulation.setEmulatedMedia", features=wanted)

    def evaluate(self, expression):
        """The value of a JavaScript expression, also of a promise."""
        done = self.order(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True
        )
        if "exceptionDetails" in done:
            details = done["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description") or details["text"])
        return done["result"].get("value")

    def wait(self, expression):
        """Wait until an expression is true."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            with suppress(BrowserError):  # the page may be another one in a moment
                if self.evaluate(_UNTIL % expression):
                    return
        raise BrowserError(f"waited in vain for {expression}; the page says:\n{self.text('body')}")

    def text(self, selector):
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText")

    def click(self, selector, having=""):
        """Click the middle of the first element of ``selector`` whose text holds ``having``, when it is there."""
        found = (
            "[...document.querySelectorAll(%s)].find((e) => e.innerText.includes(%s) && e.checkVisibility())"
        )
        found %= (json.dumps(selector), json.dumps(having))
        self.wait(found + " !== undefined")
        spot = self.evaluate(
            f"(() => {{ const e = {found}; e.scrollIntoView({{block: 'nearest'}});"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        self.press_at(*spot)

    def press_at(self, x, y):
        self.order("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased"):
            self.order("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, key):
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        codes = {"Escape": 27, "Enter": 13, "ArrowDown": 40, "ArrowUp": 38}
        known = {"windowsVirtualKeyCode": codes[key]} if key in codes else {}
        self.order("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **known)
        self.order("Input.dispatchKeyEvent", type="keyUp", key=key, **known)

    def write(self, text):
        self.order("Input.insertText", text=text)

    def complaints(self):
        """Scripts that failed and rules of the page's policy that were broken, as the browser told."""
        self.evaluate("0")  # what it has told until now is read with this answer
        mine = [said for said in self._wire.told if said.get("sessionId") == self._session]
        thrown = [
            said["params"]["exceptionDetails"].get("exception", {}).get("description")
            for said in mine
            if said["method"] == "Runtime.exceptionThrown"
        ]
        entries = [said["params"]["entry"] for said in mine if said["method"] == "Log.entryAdded"]
        return thrown + [e["text"] for e in entries if e["source"] in ("security", "violation", "javascript")]


_UNTIL = """new Promise((resolve) => {
  const end = performance.now() + 5000;
  const look = () => {
    const found = (() => { try { return (%s); } catch { return undefined; } })();
    if (found || performance.now() > end) resolve(Boolean(found));
    else setTimeout(look, 10);
  };
  look();
})"""
