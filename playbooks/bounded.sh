#!/bin/sh
# sh bounded.sh FILE_KIB MEMORY_KIB COMMAND…: what a host sends may fill neither the disk nor the memory.
# A limit that cannot be set is tighter here already.
ulimit -f $(($1 * 2)) 2>/dev/null
ulimit -v "$2" 2>/dev/null
shift 2
exec "$@"
