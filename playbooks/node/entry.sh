#!/bin/sh
# Head of the node program: finds a Python 3.6 or newer and lets it run the zip archive that follows this text.
given=$1; shift
for python in "$given" /usr/bin/python3 /usr/libexec/platform-python python3 python3.13 python3.12 python3.11 python3.9 python3.6; do
  [ "$python" ] || continue
  path=$(command -v "$python") || continue
  "$path" -I -c 'import sys; sys.exit(sys.version_info < (3, 6))' 2>/dev/null || continue
  exec "$path" -I -B "$0" "$@"
done
echo '{"error": "no Python 3.6 or newer: set python under [fleet] in audit.toml"}'
exit 5
