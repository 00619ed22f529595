"""The servers: how each is made a caching proxy of one worker, and what it speaks.

Every server has a port for HTTP/1.1, one for HTTP/2 in clear text and one for TLS; they may be the same. Those that will not serve
as root get the user that their Debian package made.
"""

import os
import pathlib
import pwd
import shutil
import string
import subprocess
import time

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
ASSETS = ROOT / "crates/tls/assets"
SERVER_CORE = "1"
EVERYTHING = ("h1", "h2c", "h2", "pipelined")


class Missing(Exception):
    """The server, or something that it needs, is not installed."""


def find(program):
    path = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if path is None:
        raise Missing(f"`{program}` is not installed")
    return path


def is_root():
    return os.getuid() == 0


def user_of(*names):
    """The first of these users that there is, for a server that will not serve as root; else who runs this."""
    for name in names if is_root() else ():
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            pass
    return pwd.getpwuid(os.getuid()).pw_name


class Server:
    """A running server: its processes, its ports and what it speaks."""

    name = ""
    speaks = EVERYTHING

    def __init__(self, number, work, origin, files):
        self.work = pathlib.Path(work, self.name.replace(" ", "-"))
        self.work.mkdir()
        self.work.chmod(0o777)
        self.h1, self.h2c, self.tls = (9100 + 10 * number + port for port in range(3))
        self.origin, self.files = origin, files
        self.processes = []

    def values(self):
        """What is put into the configuration."""
        pem = pathlib.Path(self.work, "chain-and-key.pem")
        pem.write_text((ASSETS / "rsa-chain.pem").read_text() + (ASSETS / "rsa-key.pem").read_text())
        return {
            **{name: str(getattr(self, name)) for name in ("h1", "h2c", "tls", "origin", "work", "files")},
            "assets": str(ASSETS),
            "certificate": str(ASSETS / "rsa-chain.pem"),
            "key": str(ASSETS / "rsa-key.pem"),
            "pem": str(pem),
        }

    def configuration(self, template, to=None, **more):
        """Fills in a file of conf/; gives the path of what it became."""
        text = string.Template((HERE / "conf" / template).read_text())
        path = pathlib.Path(to or self.work / template)
        path.write_text(text.substitute(self.values(), **more))
        return str(path)

    def run(self, *command, **environment):
        log = open(self.work / "log", "ab")
        process = subprocess.Popen(
            ["taskset", "-c", SERVER_CORE, *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **environment},
            cwd=self.work,
        )
        self.processes.append(process)

    def port(self, protocol):
        return {"h1": self.h1, "pipelined": self.h1, "h2c": self.h2c, "h2": self.tls}[protocol]

    def has_died(self):
        return any(process.poll() is not None for process in self.processes)

    def stop(self):
        """Ends what was started, and whatever those have started that does not end with them."""
        family = self.pids()
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        time.sleep(0.1)
        for pid in family:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass

    def pids(self):
        """The processes that were started and all their descendants."""
        family = [process.pid for process in self.processes]
        for pid in family:
            for task in _tasks(pid):
                try:
                    children = pathlib.Path(task, "children").read_text().split()
                except OSError:
                    continue
                family.extend(int(child) for child in children)
        return family

    def cpu_seconds(self):
        """All threads' time on a CPU (Linux, Documentation/scheduler/sched-stats)."""
        spent = 0
        for pid in self.pids():
            for task in _tasks(pid):
                try:
                    spent += int(pathlib.Path(task, "schedstat").read_text().split()[0])
                except OSError:
                    continue
        return spent / 1e9

    def pss_kib(self):
        """Memory, what is shared divided among those that share it; without pages of files, whose sharers come and go."""
        total = 0
        for pid in self.pids():
            for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith(("Pss_Anon:", "Pss_Shmem:", "SwapPss:")):
                    total += int(line.split()[1])
        return total


def _tasks(pid):
    try:
        return list(pathlib.Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


class Nginx(Server):
    name = "nginx"

    def start(self):
        program = find("nginx")
        user = "user root;" if is_root() else ""
        self.run(program, "-p", str(self.work), "-c", self.configuration("nginx.conf", user=user))


class HaProxy(Server):
    name = "HAProxy"

    def start(self):
        self.run(find("haproxy"), "-db", "-f", self.configuration("haproxy.cfg"))


class H2o(Server):
    name = "H2O (files)"

    def start(self):
        self.h2c = self.h1
        self.run(find("h2o"), "-m", "worker", "-c", self.configuration("h2o.yaml", user=user_of()))


class TrafficServer(Server):
    name = "Traffic Server"

    def start(self):
        program = find("traffic_server")
        etc = self.work / "etc"
        etc.mkdir()
        folders = {"prefix": self.work, "sysconfdir": etc, "bindir": pathlib.Path(program).parent}
        for name in ("datadir", "libexecdir", "localstatedir", "runtimedir", "logdir", "cachedir"):
            folders[name] = self.work / name
            folders[name].mkdir()
        root = self.work / "runroot.yaml"
        root.write_text("".join(f"{name}: {folder}\n" for name, folder in folders.items()))
        (etc / "remap.config").write_text(f"map / http://127.0.0.1:{self.origin}/\n")
        (etc / "storage.config").write_text(f"{self.work} 134217728\n")
        certificate = "dest_ip=* ssl_cert_name=rsa-chain.pem ssl_key_name=rsa-key.pem\n"
        (etc / "ssl_multicert.config").write_text(certificate)
        shutil.copy(HERE / "conf/ip_allow.yaml", etc)
        self.configuration("records.config", etc / "records.config", ats_user="#-1")
        self.run(program, TS_RUNROOT=str(root))


class Varnish(Server):
    name = "Varnish"
    # TLS is hitch's, whose CPU time and memory count too.
    speaks = EVERYTHING

    def start(self):
        program, hitch = find("varnishd"), find("hitch")
        self.run(
            program, "-F", "-j", "none", "-n", str(self.work / "state"), "-s", "malloc,64m",
            "-a", f"plain=127.0.0.1:{self.h1}", "-a", f"proxy=127.0.0.1:{self.h2c},PROXY",
            "-f", self.configuration("varnish.vcl"), "-p", "feature=+http2", "-p", "thread_pools=1",
            "-p", "thread_pool_min=50", "-p", "thread_pool_max=3000", "-p", "timeout_idle=75",
        )  # fmt: skip
        self.run(hitch, f"--config={self.configuration('hitch.conf', hitch_user=user_of('_hitch'))}")

    def port(self, protocol):
        # The other port wants a head of PROXY before each connection.
        return self.h1 if protocol == "h2c" else super().port(protocol)


class Squid(Server):
    name = "Squid"
    speaks = ("h1", "pipelined")

    def start(self):
        self.run(find("squid"), "-N", "-f", self.configuration("squid.conf"))


class Apache(Server):
    name = "Apache"

    def start(self):
        program, modules = find("apache2"), "/usr/lib/apache2/modules"
        if not os.path.isdir(modules):
            raise Missing(f"there is no folder {modules}")
        (self.work / "cache").mkdir()
        (self.work / "cache").chmod(0o777)
        user = user_of("www-data")
        user = f"User {user}\nGroup {user}" if is_root() else ""
        self.h2c = self.h1
        self.run(program, "-DFOREGROUND", "-f", self.configuration("apache.conf", modules=modules, user=user))


class Farlink(Server):
    """Ours: `farlink proxy`, reverse, with its cache."""

    name = "farlink"
    settings = "farlink.toml"

    def start(self):
        program = ROOT / "target/dist/farlink"
        if not program.exists():
            raise Missing(f"{program} is not built")
        self.h2c = self.h1
        self.run(str(program), "proxy", "--config", self.configuration(self.settings))


class FarlinkLogging(Farlink):
    """Ours with its access log, in JSON, which the others do not write."""

    name = "farlink (log)"
    settings = "farlink-log.toml"


class Prepared(Server):
    """Ours, without looking anything up: the example `prepared_replies`, once in clear text and once with TLS."""

    name = "farlink (prepared)"

    def start(self):
        program = ROOT / "target/dist/examples/prepared_replies"
        if not program.exists():
            raise Missing(f"{program} is not built")
        self.h2c = self.h1
        self.run(str(program), f"127.0.0.1:{self.h1}", "none")
        self.run(str(program), f"127.0.0.1:{self.tls}", "tls13")


ALL = (Nginx, Farlink, FarlinkLogging, Prepared, HaProxy, H2o, TrafficServer, Varnish, Squid, Apache)
