"""A page in the browser: a client of the socket with a port of its own, on this computer alone.

``server`` starts and ends it, ``gate`` decides which requests are answered, ``session`` whose; ``api`` asks
the daemon, ``rendering`` makes HTML of notes, ``answer_graph`` the graph of results. ``page/`` is what the
browser loads: no build step, nothing from elsewhere.
"""
