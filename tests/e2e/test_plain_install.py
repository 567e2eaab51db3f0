"""An installation without extras indexes, and finds notes by word and by meaning."""

import re
import subprocess
from collections.abc import Iterator

import pytest
from plain_install import FOUND, MOST_BYTES, PROJECT, Installation, plain_installation

pytestmark = [pytest.mark.long, pytest.mark.model, pytest.mark.timeout(1200)]
LEFT_OUT = {"torch", "transformers", "sentence_transformers", "scipy", "llama_index_core", "ir_measures"}


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    with plain_installation() as made:
        yield made


def test_it_is_small_and_finds_by_word_and_by_meaning(installation: Installation) -> None:
    assert not LEFT_OUT & {*installation.packages}
    assert installation.size <= MOST_BYTES
    assert installation.first_answer()[0] == FOUND
    vault = str(installation.folder / "vault")
    assert "E-4107" in installation.run("search", "E-4107", "-n", "1", "--vault", vault).stdout


def test_doctor_finds_it_whole(installation: Installation) -> None:
    said = installation.run("doctor")
    assert (said.returncode, "no problems" in said.stdout) == (0, True), said.stdout


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (["evaluate", "--queries", __file__, "--qrels", __file__], "evaluate"),
        (["mcp"], "mcp"),
    ],
)
def test_what_it_lacks_is_named_with_the_command_that_adds_it(
    command: list[str], extra: str, installation: Installation
) -> None:
    said = installation.run(*command)
    assert (said.returncode, said.stdout) == (2, "")
    assert f"needs the {extra} extra; add it with `" in said.stderr
    command_line = said.stderr.rpartition("/bin/")[2].rstrip()
    assert re.fullmatch(rf"python[\d.]* -m pip install '{PROJECT}\[{extra}\]'`", command_line)


def test_the_components_for_llamaindex_name_their_extra(installation: Installation) -> None:
    said = subprocess.run(
        [str(installation.folder / "bin" / "python"), "-c", "import vaultseek.llama"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.stderr.rstrip().endswith(f"-m pip install '{PROJECT}[llama]'`")
