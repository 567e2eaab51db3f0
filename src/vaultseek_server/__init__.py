"""A server for a team: clients with tokens, and indexes in PostgreSQL that several machines share."""

ADDS = {
    "commands": {
        "team": "vaultseek_server.commands.team:team",
        "backend": "vaultseek_server.commands.backend:backend",
    },
    "options of serve": {"role": "vaultseek_server.commands.serve:ROLE"},
    "settings": {
        "IndexSettings": "vaultseek_server.settings:EngineKeys",
        "Settings": "vaultseek_server.settings:TeamKeys",
    },
    "hosting": {"server": "vaultseek_server.daemon.hosting:hosting"},
    "clients": {"server": "vaultseek_server.team.clients:TeamClients"},
    "methods": {"server": "vaultseek_server.daemon.methods:ServerMethods"},
    "checks": {"server": "vaultseek_server.doctor:checks"},
}
"""Modules and objects that this package adds to vaultseek; see ``vaultseek.plugins``."""
