"""The browser page: a client of the daemon with its own HTTP port, reachable only from this computer.

``application`` serves the page until it is no longer used. ``gate`` decides which requests are answered,
``api`` calls the daemon, and ``rendering`` converts notes to HTML. ``page/`` contains the files that the
browser loads. There is no build step, and nothing is loaded from other servers.
"""
