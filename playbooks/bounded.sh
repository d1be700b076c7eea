#!/bin/sh
# sh bounded.sh FILE_KIB MEMORY_KIB COMMAND…: what a host sends may fill neither the disk nor the memory.
ulimit -f $(($1 * 2)) && ulimit -v "$2" && shift 2 && exec "$@"
