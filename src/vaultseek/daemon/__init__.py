"""The daemon: the open vaults, the tasks that follow them, and the RPC methods."""
