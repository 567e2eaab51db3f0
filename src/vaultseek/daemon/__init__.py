"""The daemon: open vaults, the tasks that keep them up to date, and the handlers of requests."""
