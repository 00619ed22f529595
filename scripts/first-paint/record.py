#!/usr/bin/env python3
"""Loads pages in a fresh Chromium each and writes what it saw.

`record.py CHROMIUM URL DIRECTORY LOADS NAME...` writes `DIRECTORY/NAME.har` of the first load of each
page, with bodies, and prints its first contentful paints and load events in milliseconds, one line a load.
Chromium is driven over the DevTools protocol through a pipe, as farlink itself does.
"""

import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-default-apps --mute-audio "
    "--remote-debugging-pipe"
).split()


class Browser:
    """One Chromium with one tab."""

    def __init__(self, path):
        self.profile = tempfile.mkdtemp()
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()

        def pipes():
            # The browser reads from 3 and writes to 4.
            os.dup2(os.dup(to_browser), 103)
            os.dup2(os.dup(from_browser), 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        command = [path, *FLAGS, f"--user-data-dir={self.profile}", "about:blank"]
        null = subprocess.DEVNULL
        self.process = subprocess.Popen(
            command, preexec_fn=pipes, close_fds=False, stdout=null, stderr=null
        )
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.events, self.number, self.session = b"", [], 0, None
        target = next(
            t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page"
        )
        attach = {"targetId": target["targetId"], "flatten": True}
        self.session = self.call("Target.attachToTarget", attach)["sessionId"]

    def message(self):
        while b"\0" not in self.rest:
            piece = os.read(self.read, 1 << 16)
            if not piece:
                raise EOFError("Chromium has ended")
            self.rest += piece
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, params=None):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params or {}}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.write, json.dumps(request).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.number:
                return message.get("result", {})
            self.events.append(message)

    def close(self):
        self.call("Browser.close")
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


def load(browser, url):
    """Loads a page; gives FCP, load event and the events of the network."""
    for domain in ["Network.enable", "Page.enable"]:
        browser.call(domain)
    browser.call("Page.navigate", {"url": url})
    paints = "performance.getEntriesByName('first-contentful-paint').map(e=>e.startTime)[0]||0"
    ends = "performance.timing.loadEventEnd&&performance.timing.loadEventStart-performance.timing.navigationStart"
    until = time.monotonic() + 30
    while time.monotonic() < until:
        time.sleep(0.3)
        evaluated = browser.call(
            "Runtime.evaluate", {"expression": f"[{paints},{ends}]", "returnByValue": True}
        )
        paint, loaded = evaluated["result"].get("value", [0, 0])
        if paint and loaded:
            time.sleep(0.5)
            browser.call("Runtime.evaluate", {"expression": "0"})
            return paint, loaded, [e for e in browser.events if "method" in e]
    raise TimeoutError(url)


def iso(seconds):
    at = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")


def har(browser, events, loaded):
    """A HAR as DevTools would save it."""
    requests = {}
    for event in events:
        params = event["params"]
        seen = requests.setdefault(params.get("requestId"), {})
        if event["method"] == "Network.requestWillBeSent":
            seen["sent"] = params
        elif event["method"] == "Network.responseReceived":
            seen["response"] = params["response"]
        elif event["method"] == "Network.loadingFinished":
            seen["end"] = params
    entries = []
    for identity, seen in requests.items():
        if not {"sent", "response", "end"} <= seen.keys():
            continue
        if not seen["sent"]["request"]["url"].startswith("http"):
            continue
        entries.append(entry(browser, identity, seen))
    started = entries[0]["startedDateTime"]
    page = {"id": "p", "title": "", "startedDateTime": started, "pageTimings": {"onLoad": loaded}}
    creator = {"name": "record.py", "version": "1"}
    return {"log": {"version": "1.2", "creator": creator, "pages": [page], "entries": entries}}


def entry(browser, identity, seen):
    sent, response, timing = seen["sent"], seen["response"], seen["response"]["timing"]
    body = browser.call("Network.getResponseBody", {"requestId": identity})
    content = {"size": len(body.get("body", "")), "mimeType": response["mimeType"]}
    content["text"] = body.get("body", "")
    if body.get("base64Encoded"):
        content["encoding"] = "base64"

    def span(start, end):
        return timing[end] - timing[start] if timing[start] >= 0 else -1

    first = next(timing[s] for s in ("dnsStart", "connectStart", "sendStart") if timing[s] >= 0)
    queued = (timing["requestTime"] - sent["timestamp"]) * 1000
    headers = timing.get("receiveHeadersStart", timing["receiveHeadersEnd"])
    timings = {
        "blocked": max(queued, 0) + first,
        "dns": span("dnsStart", "dnsEnd"),
        "connect": span("connectStart", "connectEnd"),
        "ssl": span("sslStart", "sslEnd"),
        "send": span("sendStart", "sendEnd"),
        "wait": headers - timing["sendEnd"],
        "receive": (seen["end"]["timestamp"] - timing["requestTime"]) * 1000 - headers,
    }
    fields = [{"name": k, "value": v} for k, v in response["headers"].items()]
    asked = [{"name": k, "value": v} for k, v in sent["request"]["headers"].items()]
    return {
        "startedDateTime": iso(sent["wallTime"]),
        "time": sum(max(value, 0) for value in timings.values()) - max(timings["ssl"], 0),
        "pageref": "p",
        "_initiator": sent["initiator"],
        "_priority": sent["request"]["initialPriority"],
        "_resourceType": sent["type"].lower(),
        "request": {
            "method": "GET",
            "url": sent["request"]["url"],
            "httpVersion": "http/1.1",
            "headers": asked,
            "bodySize": 0,
        },
        "response": {
            "status": response["status"],
            "httpVersion": "http/1.1",
            "headers": fields,
            "redirectURL": "",
            "content": content,
            "bodySize": -1,
            "_transferSize": seen["end"]["encodedDataLength"],
        },
        "timings": timings,
    }


def main():
    chromium, url, directory, loads, *names = sys.argv[1:]
    for name in names:
        for number in range(int(loads)):
            browser = Browser(chromium)
            paint, loaded, events = load(browser, f"{url}/{name}/")
            if number == 0:
                with open(f"{directory}/{name}.har", "w", encoding="utf-8") as file:
                    json.dump(har(browser, events, loaded), file)
            browser.close()
            print(name, round(paint), round(loaded), flush=True)


if __name__ == "__main__":
    main()
