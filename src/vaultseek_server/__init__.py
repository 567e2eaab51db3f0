"""A server for a team: indexes in PostgreSQL, which several machines write and search."""

ADDS = {
    "commands": {"backend": "vaultseek_server.commands.backend:backend"},
    "options of serve": {"role": "vaultseek_server.commands.serve:ROLE"},
    "settings": {"IndexSettings": "vaultseek_server.settings:EngineKeys"},
    "hosting": {"server": "vaultseek_server.daemon.hosting:hosting"},
    "methods": {"server": "vaultseek_server.daemon.methods:ServerMethods"},
    "checks": {"server": "vaultseek_server.doctor:checks"},
}
"""Additions to vaultseek; see ``vaultseek.plugins``."""
