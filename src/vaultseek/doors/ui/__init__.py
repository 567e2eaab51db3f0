"""The browser page: a client of the socket with its own port, reachable only from this computer.

``server`` starts and ends it, ``gate`` decides which requests are answered, ``session`` whose; ``api`` calls
the daemon, ``rendering`` converts notes to HTML, ``answer_graph`` the graph of results. ``page/`` holds the
files that the browser loads: no build step, nothing from elsewhere.
"""
