"""Browsers and programs behind an emulated network, in real time and without root (`farlink shell`, docs/shell.md)."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional, Union

from ._native import FarlinkError
from ._network import Network
from ._program import program

SERVER = "server.farlink"
"""Name of this machine's loopback on the network's far side."""

Ports = Union[Sequence[int], Mapping[int, int]]


class EmulatedNetwork:
    """A network that programs can be started behind; `emulated_network` makes it.

    Each program has the network for itself, with its own addresses, and sees of this machine only the ports that were
    named, as `server.farlink`.
    """

    def __init__(
        self, networks: Sequence[str], ports: Mapping[int, int], seed: int, folder: Path
    ) -> None:
        self.networks = list(networks)
        """The networks, the first next to the program."""
        self._ports = dict(ports)
        self._seed = seed
        self._folder = folder
        self._started = 0

    def __repr__(self) -> str:
        return f"<EmulatedNetwork {' + '.join(self.networks)}>"

    def url(self, port: int, path: str = "/", scheme: str = "http") -> str:
        """URL, behind the network, of a server on 127.0.0.1:`port` of this machine."""
        if port not in self._ports:
            raise FarlinkError(f"port {port} is not reachable: name it in `ports`")
        return f"{scheme}://{SERVER}:{self._ports[port]}/{path.lstrip('/')}"

    def command(self, arguments: Sequence[str]) -> list[str]:
        """The command that runs another behind the network."""
        return [*self._shell(str(self._log())), "--", *arguments]

    def run(self, arguments: Sequence[str], **options: Any) -> subprocess.CompletedProcess[Any]:
        """Runs a program behind the network: `subprocess.run` with its options. The exit code is the program's."""
        return subprocess.run(self.command(arguments), **options)

    def browser(self, executable: Optional[str] = None) -> str:
        """Path of a program that starts a browser behind the network, for Playwright's `executable_path`.

        Playwright talks to its browser over a pipe, which reaches into the network; everything that the browser loads
        crosses the network.

        Args:
            executable: the browser; by default the Chromium of this machine.
        """
        browser = executable or _chromium()
        script = self._folder / f"browser-{self._started}"
        # Each start has a log of its own, by the process's number.
        log = str(self._folder / "log-")
        shell = shlex.join(self._shell(log)[:-1])
        script.write_text(
            "#!/bin/sh\n"
            "# Starts a browser behind an emulated network. The pipe of its debugger is inherited.\n"
            f'exec {shell} {shlex.quote(log)}"$$".json -- {shlex.quote(browser)} "$@"\n',
            encoding="utf-8",
        )
        script.chmod(0o700)
        self._started += 1
        return str(script)

    def launch(self, browser_type: Any, **options: Any) -> Any:
        """Launches a browser of Playwright behind the network: `network.launch(playwright.chromium)`."""
        options.setdefault("executable_path", self.browser())
        return browser_type.launch(**options)

    def logs(self) -> list[dict[str, Any]]:
        """What the network carried for each program that has ended: `farlink shell --log` describes it.

        `valid` is False if packets were late, and `invalid_because` says why.
        """
        files = sorted(self._folder.glob("log-*.json"), key=lambda path: path.stat().st_mtime_ns)
        texts = [path.read_text(encoding="utf-8") for path in files]
        # A log of a program that still runs is empty.
        return [json.loads(text) for text in texts if text.strip()]

    def check(self) -> None:
        """Checks that all programs so far had the network that was asked for.

        Raises:
            FarlinkError: the machine was too busy to emulate it, so that times measured behind it say nothing.
        """
        for log in self.logs():
            if not log["valid"]:
                raise FarlinkError(
                    f"the network was not emulated faithfully: {log['invalid_because']}"
                )

    def _log(self) -> Path:
        self._started += 1
        return self._folder / f"log-{os.getpid()}-{self._started}.json"

    def _shell(self, log: str) -> list[str]:
        command = [str(program()), "shell", "--seed", str(self._seed)]
        for network in self.networks:
            command += ["--network", network]
        for port, inside in self._ports.items():
            command += ["--host-loopback", f"{port}={inside}"]
        return [*command, "--log", log]


@contextmanager
def emulated_network(
    network: Union[str, Network, Sequence[Union[str, Network]]],
    *,
    ports: Ports = (),
    seed: int = 1,
) -> Iterator[EmulatedNetwork]:
    """A network for programs and browsers of this machine, emulated packet by packet in real time.

        with emulated_network("3g", ports=[8080]) as network, sync_playwright() as playwright:
            browser = network.launch(playwright.chromium)
            page = browser.new_page()
            page.goto(network.url(8080))

    Linux only, without root; `farlink doctor` reports what a machine lacks.

    Args:
        network: a profile, a description or a `Network`; several form a chain, the first next to the program.
        ports: ports of 127.0.0.1 that are reachable behind the network; a dictionary gives them other numbers there.
        seed: source of random losses and jitter.
    """
    several = [network] if isinstance(network, (str, Network)) else list(network)
    mapped = dict(ports) if isinstance(ports, Mapping) else {port: port for port in ports}
    with tempfile.TemporaryDirectory(prefix="farlink-") as folder:
        yield EmulatedNetwork([str(it) for it in several], mapped, seed, Path(folder))


def _chromium() -> str:
    named = os.environ.get("FARLINK_CHROMIUM")
    found = named or shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        raise FarlinkError("no Chromium on PATH; name one: FARLINK_CHROMIUM=/usr/bin/chromium")
    return found
