"""Builds the demo corpus: lays out each page's hosts from npm packages, serves them with nginx, records them with Chromium.

Usage: build.py FARLINK FOLDER [PAGE...]      FOLDER gets PAGE.wacz and LICENCES.md
"""

import base64
import hashlib
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import tomllib
import urllib.parse
import zlib

NETWORK = "rtt=30ms,down=50mbit,up=10mbit,queue=200pkt"
farlink, folder, wanted = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
corpus = tomllib.loads((pathlib.Path(__file__).parent / "pages.toml").read_text())
pages = [page for page in corpus["page"] if not wanted or page["name"] in wanted]
unknown = set(wanted) - {page["name"] for page in corpus["page"]}
if unknown:
    sys.exit(f"error: no page {', '.join(sorted(unknown))}; there are {', '.join(page['name'] for page in corpus['page'])}")
packages = folder / "packages"
repository = pathlib.Path(__file__).resolve().parents[2]


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True, **options)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(str(part) for part in command[:4])} ... failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def fetch(name):
    """The directory of a package, fetched unless it is there."""
    place = packages / name
    if not place.is_dir():
        packages.mkdir(parents=True, exist_ok=True)
        packed = run("npm", "pack", "--silent", corpus["packages"][name], cwd=packages).split()[-1]
        unpacked = packages / f"{name}.part"
        unpacked.mkdir(exist_ok=True)
        run("tar", "xzf", packages / packed, "-C", unpacked, "--strip-components", "1")
        (packages / packed).unlink()
        unpacked.rename(place)
    return place


def picture(width, height, seed):
    """A PNG picture of hills: smooth enough to be compressed, and different for each seed."""
    import math

    phase = [int(hashlib.sha256(f"{seed}/{n}".encode()).hexdigest()[:6], 16) % 628 / 100 for n in range(4)]
    rows = []
    for y in range(height):
        row = bytearray(b"\0")
        for x in range(width):
            value = sum(math.sin(x / (23 + 9 * n) + phase[n]) * math.cos(y / (31 - 5 * n) + phase[n]) for n in range(4))
            shade = int(128 + 28 * value)
            row += bytes((shade, min(255, shade + 40), max(0, shade - 30)))
        rows.append(bytes(row))
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"".join(rows))) + chunk(b"IEND", b"")


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def expanded(path):
    """A path for each number of its ranges: /{0-7}/x is eight paths."""
    found = re.search(r"\{(\d+)-(\d+)\}", path)
    if not found:
        return [path]
    numbers = range(int(found[1]), int(found[2]) + 1)
    return [other for n in numbers for other in expanded(path[: found.start()] + str(n) + path[found.end() :])]


def fonts(names, root):
    """fonts.googleapis.com's style sheet and fonts.gstatic.com's files, from Fontsource's packages: Latin alone, as browsers fetch."""
    sheet = ""
    for name in names:
        place = fetch(name)
        for weight in ("400", "700"):
            file = next(place.glob(f"files/*-latin-{weight}-normal.woff2"))
            put(root / "fonts.gstatic.com" / "s" / file.name, file.read_bytes())
            family = name.replace("-", " ").title()
            sheet += (
                f"@font-face {{\n  font-family: '{family}';\n  font-style: normal;\n  font-weight: {weight};\n"
                f"  src: url(https://fonts.gstatic.com/s/{file.name}) format('woff2');\n}}\n"
            )
    put(root / "fonts.googleapis.com" / "css", sheet)


def lay_out(page, root):
    """Writes what each host of a page serves below ROOT/HOST; returns the hosts."""
    for host, paths in page.get("serve", {}).items():
        for path, source in paths.items():
            package, _, inner = source.partition("/")
            source = (repository if package == "." else fetch(package)) / inner
            target = root / host / path.strip("/")
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True)
            else:
                put(target, source.read_bytes())
    for host, paths in page.get("write", {}).items():
        for path, text in paths.items():
            put(root / host / path.strip("/"), text)
    for host, paths in page.get("tiles", {}).items():
        for pattern, (width, height) in paths.items():
            for path in expanded(pattern):
                content = picture(width, height, path)
                for name in [host.replace("*", letter) for letter in ("abc" if host.startswith("*") else "a")]:
                    put(root / name / path.strip("/"), content)
    if page.get("fonts"):
        fonts(page["fonts"], root)
    return sorted(place.name for place in root.iterdir())


def nginx(hosts, root, work):
    # Sites have an address of their own, and the CDNs, too.
    servers = "".join(
        f"""
  server {{
    listen 10.1.0.{number}:443 ssl http2; server_name {host}; root {root}/{host}; index index.html;
    add_header Access-Control-Allow-Origin *; add_header Cache-Control max-age=3600; error_page 405 =200 $uri;
    location = /css {{ default_type text/css; }}
  }}"""
        for number, host in enumerate(hosts, 1)
    )
    return f"""daemon off; master_process off; pid {work}/nginx.pid; error_log {work}/error.log;
events {{ worker_connections 512; }}
http {{
  access_log off; gzip on; gzip_types text/css application/javascript application/json image/svg+xml text/markdown;
  types {{ text/html html; text/css css; application/javascript js; application/json json; image/png png; image/jpeg jpg jpeg;
    image/svg+xml svg; image/x-icon ico; font/woff2 woff2; font/woff woff; text/markdown md; }}
  client_body_temp_path {work}/1; proxy_temp_path {work}/2; fastcgi_temp_path {work}/3; uwsgi_temp_path {work}/4; scgi_temp_path {work}/5;
  ssl_certificate {work}/cert.pem; ssl_certificate_key {work}/key.pem;{servers}
}}
"""


def certificate(hosts, work):
    """Makes a certificate for all hosts; returns the hash of its key."""
    names = ",".join(f"DNS:{host}" for host in hosts)
    run(
        *"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=farlink".split(),
        "-keyout", work / "key.pem", "-out", work / "cert.pem", "-addext", f"subjectAltName={names}",
    )
    public = run("openssl", "x509", "-in", work / "cert.pem", "-pubkey", "-noout")
    der = base64.b64decode("".join(line for line in public.splitlines() if not line.startswith("-----")))
    return base64.b64encode(hashlib.sha256(der).digest()).decode()


def record(page):
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        root = work / "hosts"
        hosts = lay_out(page, root)
        key = certificate(hosts, work)
        put(work / "nginx.conf", nginx(hosts, root, work))
        run("chmod", "-R", "a+rwX", work)
        output = folder / f"{page['name']}.wacz"
        places = [option for number, host in enumerate(hosts, 1) for option in ("--connect-to", f"{host}=10.1.0.{number}:443")]
        # nginx listens before it is ready.
        run(
            farlink, "shell", "--network", NETWORK, "--server", f"nginx -c {work}/nginx.conf", "--",
            "sh", "-c", 'sleep 1; exec "$@"', "sh", farlink, "record", page["url"], "--accept-key", key, *places, "-o", output,
        )
        listed = run(farlink, "archive", "ls", output).splitlines()[1:]
        failed = [line for line in listed if " failed " in line or " 404 " in line]
        print(f"{page['name']:10} {len(listed):4} requests to {len(hosts)} hosts, {output.stat().st_size / 1024:6.0f} KB: {page['about']}")
        for line in failed:
            print(f"           {' '.join(line.split())}")


def licences():
    lines = ["# Licences of the packages in these pages", ""]
    for name, version in sorted(corpus["packages"].items(), key=lambda package: package[1]):
        if (packages / name).is_dir():
            licence = json.loads((packages / name / "package.json").read_text()).get("license", "see the package")
            lines.append(f"- {version}: {licence}")
    (folder / "LICENCES.md").write_text("\n".join(lines) + "\n")


folder.mkdir(parents=True, exist_ok=True)
for page in pages:
    record(page)
licences()
