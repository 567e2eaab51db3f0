--- The vault and the note of the current buffer.
local config = require("vaultseek.config")
local uv = vim.uv or vim.loop

local M = {}

--- Return the vault of `buffer`, as parameters of the protocol.
function M.vault(buffer)
  if config.current.vault then
    return { vault = config.current.vault }
  end
  local file = M.file(buffer or 0)
  local folder = file and vim.fn.fnamemodify(file, ":h") or vim.fn.getcwd()
  return { cwd = uv.fs_realpath(folder) or folder }
end

--- Return the note called `name`, else the note in `buffer`; nil if the buffer has no file.
function M.note(name, buffer)
  if name and name:find("%S") then
    return name
  end
  return M.file(buffer or 0)
end

--- Return the real path of the file in a buffer, or nil.
function M.file(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  if name == "" or vim.bo[buffer].buftype ~= "" or name:find("^%a[%w+.-]+://") then
    return nil
  end
  local whole = vim.fn.fnamemodify(name, ":p")
  return uv.fs_realpath(whole) or whole
end

return M
