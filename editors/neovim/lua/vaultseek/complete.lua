--- The omnifunc: completions of the language server at the cursor.
local config = require("vaultseek.config")
local lsp = require("vaultseek.lsp")

local M = {}

M.NAME = "v:lua.require'vaultseek.complete'.omnifunc"

local last -- the last answer: items, the bytes behind the cursor that an item replaces, and the client

--- Set the omnifunc of a buffer. The previous one still completes if the server has nothing to offer.
function M.attach(buffer)
  local before = vim.bo[buffer].omnifunc
  if not config.current.omnifunc or before == M.NAME then
    return
  end
  vim.b[buffer].vaultseek_omnifunc_before = before
  vim.bo[buffer].omnifunc = M.NAME
  vim.api.nvim_create_autocmd("CompleteDone", { buffer = buffer, callback = M.finish })
end

--- Complete, as described in :help complete-functions.
function M.omnifunc(findstart, base)
  if findstart == 1 or findstart == "1" then
    local start = M.ask()
    return start or M.other(findstart, base) or -3
  end
  if not last then
    return M.other(findstart, base) or {}
  end
  return { words = M.words(), refresh = "always" }
end

--- Query the server, and return the byte at which its items start; nil without items.
function M.ask()
  local answer, client = lsp.ask("textDocument/completion", config.current.complete_ms)
  local items = answer and answer.items or {}
  last = nil
  if #items == 0 then
    return nil
  end
  local range = items[1].textEdit.range -- that of every item
  local column = vim.api.nvim_win_get_cursor(0)[2]
  last = { items = items, client = client, rest = lsp.byte(range["end"], client) - column }
  return lsp.byte(range.start, client)
end

function M.words()
  local words = {}
  for number, item in ipairs(last.items) do
    words[number] = {
      word = item.textEdit.newText,
      abbr = item.label,
      menu = item.detail,
      user_data = { vaultseek = number },
      equal = 1,
      dup = 1,
      icase = 1,
    }
  end
  return words
end

--- Apply the edits of the chosen completion: replace the rest of a name, give a block its id.
function M.finish()
  local data = vim.v.completed_item.user_data
  local item = last and type(data) == "table" and last.items[data.vaultseek]
  if not item then
    return
  end
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  vim.api.nvim_buf_set_text(0, row - 1, column, row - 1, column + last.rest, {})
  local edits, client = item.additionalTextEdits, last.client
  last = nil
  if edits then
    vim.lsp.util.apply_text_edits(edits, vim.api.nvim_get_current_buf(), client.offset_encoding)
  end
  if item.command then
    vim.lsp.buf_request(0, "workspace/executeCommand", item.command, function() end)
  end
end

--- Return what the previous omnifunc returns, or nil.
function M.other(findstart, base)
  local before = vim.b.vaultseek_omnifunc_before
  if not before or before == "" or before:find("^v:lua") then
    return nil
  end
  local ok, answer = pcall(vim.fn[before], findstart, base)
  return ok and answer or nil
end

return M
