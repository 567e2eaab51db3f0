"""Notes that a token sees in part, and calls of every method that the token may use."""

from typing import Any

WIKI = {
    "Handbook/Pump.md": "---\nowner: Ana\n---\n# Pump\nThe float switch of a pump #tools. [[Salaries]]\n",
    "Handbook/Alarm.md": "# Alarm\nIt rings when the [[Pump]] fails: the float switch. #tools\n",
    "HR/Salaries.md": "---\nowner: Zelda\n---\n# Salaries\n"
    "The float switch xylophone, a flaot. #payroll [[Pump]]\n",
    "Handbook2/Near.md": "# Near\nThe float switch xylophone is near, see [[Pump]]. #payroll\n",
}
HIDDEN = ("HR/", "Handbook2", "xylophone", "zelda", "payroll", "#payroll")
"""Words that a token for the folder Handbook must never see; link targets are in Pump's own text."""
CALLS: dict[str, list[dict[str, Any]]] = {
    "search": [
        {"query": "float switch xylophone", "explain": True},
        {"query": "xylophone", "settings": {"expansion.enabled": True}},
        {"query": "float switch", "mode": "semantic"},
        {"query": "tag:payroll"},
        {"query": "path:HR"},
        {"query": "sal", "typing": True},
        {"query": "owner:Zelda float"},
    ],
    "search/all": [
        {"query": "float switch xylophone", "limit": 50},
        {"query": "float switch xylophone", "vaults": ["wiki"], "limit": 50},
    ],
    "search/context": [{"query": "float switch"}],
    "search/why": [{"query": "float switch", "note": "Pump"}],
    "note/get": [{"note": "Pump"}],
    "note/related": [{"note": "Pump", "limit": 50}],
    "graph/neighbors": [{"note": "Pump", "depth": 3}],
    "complete": [{"kind": kind, "text": ""} for kind in ("note", "tag", "property")]
    + [
        {"kind": "value", "property": "owner"},
        {"kind": "heading", "note": "Pump"},
        {"text": "", "source": "Handbook/Pump.md"},
    ],
    "links/outgoing": [{"note": "Pump"}],
    "links/backlinks": [{"note": "Pump"}],
    "links/unresolved": [{}, {"note": "Pump"}],
    "links/unlinked": [{"note": "Pump"}],
    "vault/tags": [{}],
    "vault/properties": [{}, {"name": "owner"}],
    "vault/orphans": [{}],
    "vault/duplicates": [{}],
    "vault/list": [{}],
    "index/status": [{}],
    "$/schema": [{}],
}
OF_ALL = ("search/all", "vault/list", "$/schema")
