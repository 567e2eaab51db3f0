"""Keys of a former version: one line names the replacement."""

import pytest

from vaultseek.settings.load import examine


@pytest.mark.parametrize("section", ["model", "reranker"])
@pytest.mark.parametrize("key", ["class", "class_name"])
def test_a_class_of_llama_index_gets_one_line_that_says_what_to_write(tmp_path, section, key):
    file = tmp_path / "config.toml"
    file.write_text(
        f"[{section}]\n"
        f'{key} = "llama_index.embeddings.ollama.OllamaEmbedding"\n'
        'options = { model_name = "nomic-embed-text", base_url = "http://localhost:11434" }\n'
        'key_option = "api_key"\n'
    )
    problems = [str(problem) for problem in examine(file)[1]]
    assert len(problems) == 1
    assert f"{section}.{key}: no longer a setting; set url" in problems[0]
    assert 'url = "http://localhost:11434/v1"' in problems[0]


def test_a_class_of_llama_index_in_the_environment_gets_that_line_also(tmp_path, monkeypatch):
    file = tmp_path / "config.toml"
    file.write_text("")
    monkeypatch.setenv("VAULTSEEK_MODEL__CLASS", "llama_index.embeddings.ollama.OllamaEmbedding")
    monkeypatch.setenv("VAULTSEEK_MODEL__OPTIONS", "{}")
    problems = [str(problem) for problem in examine(file)[1]]
    assert len(problems) == 1
    assert "VAULTSEEK_MODEL__CLASS: model.class: no longer a setting; set url" in problems[0]
