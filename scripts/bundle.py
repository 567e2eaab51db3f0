"""Write the bundle that hosts such as Claude Desktop install with one click (``.mcpb``), and ``server.json``
for the registry of MCP servers.

    python scripts/bundle.py FOLDER

GITHUB_REPOSITORY_OWNER is the account on the code host; the registry uses it in the server's name.

The bundle contains a manifest and a launcher. vaultseek itself, its models and its indexes stay where they
are installed, because editors and the command line use the same daemon.
"""

import asyncio
import json
import os
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
LAUNCHER = "server/vaultseek-mcp"
MANIFEST_VERSION = "0.3"
REGISTRY_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
TITLE = "Notes (vaultseek)"
DESCRIPTION = "Search and read your Markdown notes: by word, by meaning and by link."
VAULT = "The model can search and read the notes in this folder, and no others."
OWNER = os.environ.get("GITHUB_REPOSITORY_OWNER", "OWNER")
FIXED_TIME = (1980, 1, 1, 0, 0, 0)
"""Modification time of the files in the bundle, so that the same source gives the same bundle."""
EXECUTABLE = 0o100755 << 16


def main(folder: Path, owner: str = OWNER) -> Path:
    """Write the bundle and ``server.json`` into ``folder``; return the path of the bundle."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bundle = folder / f"vaultseek-{project['version']}.mcpb"
    files = {
        "manifest.json": json.dumps(manifest(project), indent=2) + "\n",
        LAUNCHER: (PROJECT / "scripts" / "vaultseek-mcp").read_text(encoding="utf-8"),
        "LICENSE": (PROJECT / "LICENSE").read_text(encoding="utf-8"),
    }
    (folder / "server.json").write_text(
        json.dumps(registered(project, owner), indent=2) + "\n", encoding="utf-8"
    )
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name, FIXED_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            if name == LAUNCHER:
                entry.external_attr = EXECUTABLE
            archive.writestr(entry, text)
    return bundle


def manifest(project: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest: what the host shows, what it asks the user, and how it starts the server."""
    return {
        "manifest_version": MANIFEST_VERSION,
        "name": project["name"],
        "display_name": TITLE,
        "version": project["version"],
        "description": DESCRIPTION,
        "long_description": "Lets the model search and read one folder of Markdown notes on this computer. "
        "It changes nothing and sends nothing over the network. vaultseek has to be installed.",
        "author": {"name": project["authors"][0]["name"]},
        "license": project["license"],
        "keywords": project["keywords"],
        "server": {
            "type": "binary",
            "entry_point": LAUNCHER,
            "mcp_config": {
                "command": "/bin/sh",
                "args": [f"${{__dirname}}/{LAUNCHER}", "--vault", "${user_config.vault}"],
                "env": {"VAULTSEEK_PROGRAM": "${user_config.program}"},
            },
        },
        "tools": asyncio.run(tools()),
        "compatibility": {"platforms": ["darwin", "linux"]},
        "user_config": {
            "vault": {
                "type": "directory",
                "title": "Folder of notes",
                "description": VAULT,
                "required": True,
            },
            "program": {
                "type": "file",
                "title": "Program",
                "description": "The program vaultseek, if it is in none of the usual places.",
                "required": False,
                "default": "",
            },
        },
    }


def registered(project: dict[str, Any], owner: str) -> dict[str, Any]:
    """Return the registry entry: the package, and how a host runs it with ``uvx``."""
    vault = {
        "type": "named",
        "name": "--vault",
        "description": VAULT,
        "format": "filepath",
        "isRequired": True,
    }
    package = {
        "registryType": "pypi",
        "identifier": project["name"],
        "version": project["version"],
        "runtimeHint": "uvx",
        "runtimeArguments": [{"type": "named", "name": "--with", "value": f"{project['name']}[mcp]"}],
        "packageArguments": [{"type": "positional", "value": "mcp"}, vault],
        "transport": {"type": "stdio"},
    }
    return {
        "$schema": REGISTRY_SCHEMA,
        "name": f"io.github.{owner}/{project['name']}",
        "title": TITLE,
        "description": DESCRIPTION,
        "version": project["version"],
        "packages": [package],
    }


async def tools() -> list[dict[str, str]]:
    """Return the name and first sentence of each of the server's tools."""
    from vaultseek.doors.mcp.notes import Place
    from vaultseek.doors.mcp.server import server

    async def nothing(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {}

    listed = await server(nothing, Place(None, "/")).list_tools()
    return [{"name": tool.name, "description": (tool.description or "").split("\n")[0]} for tool in listed]


if __name__ == "__main__":
    print(main(Path(sys.argv[1])))
