#!/usr/bin/env bash
# The Python package: built as a wheel, installed in an environment of its own, tested as its users use it: types, tests as root and as an
# ordinary user, the guide, the notebook, and a Ray cluster whose workers are killed.
#
# $PROFILE is cargo's profile of the package, dev by default; the program is the one that was built last.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
# somebody COMMAND...: as a user without rights. The shell in between has none, not even to find the command.
somebody() { setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'exec "$@"' sh "$@"; }
is_root() { [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null 2>&1; }
# A Python in a home that is root's alone is of no use to anybody else.
if is_root && ! somebody "$(command -v python3)" -c '' 2>/dev/null && somebody /usr/bin/python3 -c 'import ensurepip' 2>/dev/null; then
  export PATH=/usr/bin:$PATH
fi
python=$(python_environment package scripts/python/requirements.txt) || {
  [ "${CI:-}" = true ] && die "the modules of scripts/python/requirements.txt cannot be installed"
  echo "skipped: the modules of scripts/python/requirements.txt cannot be installed"
  exit 0
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
timed() { local begin=$SECONDS; "$@"; printf '(%s: %s s)\n' "$1 ${2##*/}" $((SECONDS - begin)); }

LIKE_TESTS=1 FARLINK=$(newest_farlink) timed scripts/python/wheel.sh "$work/wheel" "${PROFILE:-dev}"

# A clean environment, from which nothing of the repository can be imported; it sees the modules of the other one.
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index "$work"/wheel/*.whl
"$work/venv/bin/farlink" --version
(cd / && "$work/venv/bin/python" -c 'import farlink; print(farlink.load("synthetic:3x5KB", loads=1))')
site=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/modules.pth"
mkdir -p "$work/tests" && cp packaging/python/tests/*.py packaging/python/examples/* docs/guides/python.md scripts/python/*.py "$work/tests/"
cp -r examples "$work/tests/examples"
chmod -R a+rX "$work"
inside=$work/venv/bin/python
cd "$work/tests"
timed "$inside" -m mypy --strict --cache-dir "$work/mypy" typed.py
timed "$inside" -m mypy --strict --cache-dir "$work/mypy" --ignore-missing-imports -p farlink
timed "$inside" typed.py
timed "$inside" -m pytest -q -p no:cacheprovider
if ! is_root; then
  :
elif somebody "$inside" -c 'import farlink, pandas' 2>/dev/null; then
  mkdir "$work/home" && chown 65534:65534 "$work/home"
  # A cluster as another user tests nothing of farlink's.
  HOME=$work/home timed somebody "$inside" -m pytest -q -p no:cacheprovider --ignore test_ray.py --basetemp "$work/home/tests"
elif [ "${CI:-}" = true ]; then
  die "an ordinary user cannot read $("$inside" -c 'import sys; print(sys.base_prefix)') or $root"
else
  echo "skipped as an ordinary user, who cannot read Python or its modules"
fi
PATH=$work/venv/bin:$PATH timed "$inside" guide.py python.md
timed "$inside" -m nbconvert --to notebook --execute --output "$work/first.ipynb" first.ipynb
timed "$inside" ray_overhead.py
