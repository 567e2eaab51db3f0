"""The language server in a real Neovim, through its own ``vim.lsp``: what it shows and what it writes to
disk."""

import json
import shutil
import subprocess
import sys

import pytest

NOTES = {
    ".obsidian/app.json": "{}",
    "Pump.md": "# Pump\n\nSwitch E-4107.\n\n## Alarm\nIt rings.\n",
    "Garden.md": "# Garden\n\n漢字 🧗 [[Pump|the pump]] and [[nowhere]].\n",
    "sub/Tea.md": "[the pump](../Pump.md#alarm) [[Pump#Alarm]]\n",
}
SCRIPT = """
local out, root, python = {}, vim.fn.getcwd(), os.getenv("TEST_PYTHON")
local function finish() vim.fn.writefile({ vim.json.encode(out) }, os.getenv("TEST_OUT")) vim.cmd("qa!") end
local ok, problem = pcall(function()
  vim.cmd("set virtualedit=onemore | edit Garden.md")
  local id = vim.lsp.start_client({ name = "vaultseek", cmd = { python, "-m", "vaultseek", "lsp" },
    root_dir = root, workspace_folders = { { uri = vim.uri_from_fname(root), name = "vault" } } })
  vim.lsp.buf_attach_client(0, id)
  local client = vim.lsp.get_client_by_id(id)
  assert(vim.wait(60000, function() return client.initialized end, 20), "initialized")
  assert(vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 end, 20), "diagnostics")
  local found = vim.diagnostic.get(0)[1]
  out.diagnostic = found.message
  local line = vim.api.nvim_buf_get_lines(0, 2, 3, false)[1]
  out.marked = line:sub(found.col + 1, found.end_col)

  local function ask(method, more)
    local place = vim.lsp.util.make_position_params(0, client.offset_encoding)
    local params = vim.tbl_extend("force", place, more or {})
    local answers = vim.lsp.buf_request_sync(0, method, params, 60000)
    return answers[id].result, answers[id].error
  end

  vim.api.nvim_buf_set_lines(0, -1, -1, false, { "New [[Pu" })
  vim.api.nvim_win_set_cursor(0, { 4, 8 })
  local items = ask("textDocument/completion").items
  out.completion = items[1].textEdit.newText
  vim.lsp.util.apply_text_edits({ items[1].textEdit }, 0, client.offset_encoding)
  out.completed = vim.api.nvim_buf_get_lines(0, 3, 4, false)[1]

  vim.api.nvim_win_set_cursor(0, { 3, (line:find("the pump")) })
  local at = ask("textDocument/definition")[1]
  out.definition = { vim.uri_to_fname(at.uri), at.range.start.line }

  vim.api.nvim_win_set_cursor(0, { 3, (line:find("Pump")) })
  local edit, wrong = ask("textDocument/rename", { newName = "sub/Big valve" })
  assert(edit, vim.inspect(wrong))
  vim.lsp.util.apply_workspace_edit(edit, client.offset_encoding)
  vim.cmd("silent wall")
end)
if not ok then out.problem = tostring(problem) end
finish()
"""


@pytest.mark.skipif(not shutil.which("nvim"), reason="needs nvim; apt-get install neovim")
@pytest.mark.shared_daemon
def test_neovim_completes_goes_to_definitions_and_renames_across_files(daemon, vault, tmp_path):
    root = daemon.indexed(vault(NOTES))
    script, answer = tmp_path / "test.lua", tmp_path / "out.json"
    script.write_text(SCRIPT)
    environment = daemon.environment | {"TEST_PYTHON": sys.executable, "TEST_OUT": str(answer)}
    command = ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", f"luafile {script}"]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=110)
    assert answer.exists(), done.stderr
    told = json.loads(answer.read_text())
    assert "problem" not in told, told
    assert told["diagnostic"].startswith('no note or file is called "nowhere"')
    assert told["marked"] == "[[nowhere]]"
    assert (told["completion"], told["completed"]) == ("Pump]]", "New [[Pump]]")
    assert told["definition"] == [str(root / "Pump.md"), 0]
    assert not (root / "Pump.md").exists()
    assert (root / "sub" / "Big valve.md").read_text() == NOTES["Pump.md"]
    garden = "# Garden\n\n漢字 🧗 [[Big valve|the pump]] and [[nowhere]].\nNew [[Big valve]]\n"
    assert (root / "Garden.md").read_text() == garden
    assert (root / "sub" / "Tea.md").read_text() == "[the pump](Big%20valve.md#alarm) [[Big valve#Alarm]]\n"
