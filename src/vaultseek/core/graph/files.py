"""Write graph files for other programs: GraphML, GEXF and NetworkX's JSON format."""

import json
from pathlib import Path

import networkx

from vaultseek.base.model import JSON
from vaultseek.base.text import blank_controls


def write_graph(answer: JSON, file: Path, form: str) -> None:
    """Write an answer from ``graph/export`` to ``file`` as ``graphml``, ``gexf`` or ``json``. Raises
    OSError.
    """
    written = str if form == "json" else blank_controls  # XML does not allow control characters
    links = networkx.DiGraph()
    for node in answer["nodes"]:
        cluster = node["cluster"]
        words = answer["clusters"][cluster] if cluster is not None else ""
        title, path = written(node["title"]), written(node["path"])
        about = {
            **node,
            "path": path,
            "title": title,
            "label": title,
            "cluster": -1 if cluster is None else cluster,
            "words": words,
        }
        links.add_node(path, **about)
    paths = [written(node["path"]) for node in answer["nodes"]]
    links.add_edges_from((paths[one], paths[other]) for one, other in answer["links"])
    if form == "json":
        file.write_text(json.dumps(networkx.node_link_data(links, edges="edges"), ensure_ascii=False))
    elif form == "gexf":
        networkx.write_gexf(links, file)
    else:
        networkx.write_graphml_xml(links, file)
