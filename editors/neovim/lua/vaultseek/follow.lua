--- Following links: `gf` opens the target of the link at the cursor, resolved by the language server.
local config = require("vaultseek.config")
local lsp = require("vaultseek.lsp")
local places = require("vaultseek.places")
local say = require("vaultseek.say")

local M = {}

local TIMEOUT_MS = 3000

--- Map `gf` in a buffer, unless the user has mapped it already.
function M.attach(buffer)
  if config.current.gf and vim.api.nvim_buf_call(buffer, M.is_free) then
    vim.keymap.set("n", "gf", M.follow, { buffer = buffer, desc = "Follow the link, or go to the file" })
  end
end

function M.is_free()
  return vim.fn.maparg("gf", "n") == ""
end

--- Open the target of the link at the cursor; without a link, do the usual `gf`.
function M.follow()
  local problem = M.problem()
  local found, client = lsp.ask("textDocument/definition", TIMEOUT_MS)
  local location = found and found[1]
  if location then
    local file, start = vim.uri_to_fname(location.uri), location.range.start
    places.go({ file = file, path = file, line = start.line + 1, column = 1 }, "edit")
  elseif not problem then
    local ok, wrong = pcall(vim.cmd, ("normal! %sgf"):format(vim.v.count > 0 and vim.v.count or ""))
    return ok or say.warn(tostring(wrong):match("E%d+:.*") or wrong)
  end
  if problem then
    say.info(problem)
  end
end

--- Return the problem of the link at the cursor according to the server, or nil.
function M.problem()
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  for _, each in ipairs(vim.diagnostic.get(0, { lnum = row - 1 })) do
    if each.source == "vaultseek" and each.col <= column and column < each.end_col then
      return each.message
    end
  end
end

return M
