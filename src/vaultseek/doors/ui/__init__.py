"""The browser page: a client of the socket with its own port, reachable only from this computer.

``application`` serves it until it is not used any more. ``gate`` decides which requests are answered, ``api``
calls the daemon, ``rendering`` converts notes to HTML. ``page/`` holds the files that the browser loads: no
build step, nothing from elsewhere.
"""
