"""Speed and memory beside a peer, in one run; each module is a command that prints JSON."""
