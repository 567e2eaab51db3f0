"""The daemon: open vaults, the tasks that follow them, and the methods of the protocol."""
