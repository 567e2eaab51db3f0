"""The bundle that a host installs: reproducible from its source, and a server when started as hosts do."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import bundle
import check_package
import pytest


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    return bundle.main(tmp_path_factory.mktemp("built"))


def test_the_same_source_makes_the_same_bundle(built, tmp_path):
    assert bundle.main(tmp_path).read_bytes() == built.read_bytes()


async def test_a_host_starts_the_server_with_the_tools_of_the_manifest(built):
    program = Path(sys.executable).parent / "vaultseek"
    assert await check_package.of_bundle(built, str(program)) == []


def test_the_registry_lists_the_package_with_the_command_that_the_program_has(tmp_path):
    bundle.main(tmp_path, "ana")
    server = json.loads((tmp_path / "server.json").read_text(encoding="utf-8"))
    assert server["name"] == "io.github.ana/vaultseek"
    assert len(server["description"]) <= 100  # by the schema
    (package,) = server["packages"]
    arguments = [each.get("name") or each["value"] for each in package["packageArguments"]]
    program = Path(sys.executable).parent / "vaultseek"
    done = subprocess.run([program, *arguments, "/nowhere", "-h"], capture_output=True, text=True, check=True)
    assert "Usage: vaultseek mcp" in done.stdout
    assert package["version"] == server["version"]


def test_the_launcher_finds_an_installed_program_and_says_when_there_is_none(built, tmp_path):
    with zipfile.ZipFile(built) as archive:
        launcher = archive.extract(bundle.LAUNCHER, tmp_path)
        assert archive.getinfo(bundle.LAUNCHER).external_attr >> 16 & 0o111
    environment = {"HOME": str(tmp_path), "PATH": "/nowhere", "VAULTSEEK_PROGRAM": "${user_config.program}"}
    command = ["/bin/sh", launcher, "--vault", "/my notes"]
    if not any(os.access(f"{folder}/vaultseek", os.X_OK) for folder in ("/usr/local/bin", "/usr/bin")):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "vaultseek is not installed" in done.stderr
    program = tmp_path / ".local/bin/vaultseek"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "$@" "${VAULTSEEK_PROGRAM-unset}"\n')
    program.chmod(0o755)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "mcp --vault /my notes unset\n"
