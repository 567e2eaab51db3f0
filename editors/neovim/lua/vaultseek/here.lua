--- What the current buffer says about vault and note.
local config = require("vaultseek.config")
local uv = vim.uv or vim.loop

local M = {}

--- Which vault a request from buffer `buffer` is about, as parameters of the protocol.
function M.vault(buffer)
  if config.current.vault then
    return { vault = config.current.vault }
  end
  local file = M.file(buffer or 0)
  local folder = file and vim.fn.fnamemodify(file, ":h") or vim.fn.getcwd()
  return { cwd = uv.fs_realpath(folder) or folder }
end

--- The note that is meant: `named`, else the one in the buffer; nil where that is no file.
function M.note(named, buffer)
  if named and named:find("%S") then
    return named
  end
  return M.file(buffer or 0)
end

--- The real path of the file in a buffer, or nil.
function M.file(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  if name == "" or vim.bo[buffer].buftype ~= "" or name:find("^%a[%w+.-]+://") then
    return nil
  end
  local whole = vim.fn.fnamemodify(name, ":p")
  return uv.fs_realpath(whole) or whole
end

return M
