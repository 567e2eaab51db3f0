--- The settings of the plugin, in `M.current`. :help vaultseek-settings explains them.
local M = {}

local defaults = {
  command = { "vaultseek" },
  autostart = true,
  socket = nil,
  vault = nil,
  limit = 20,
  mode = nil,
  debounce_ms = 40,
  complete_ms = 300,
  omnifunc = true,
  gf = true,
  lsp = true,
  picker = "auto",
}

local kinds = {
  command = { "table", "string" },
  autostart = { "boolean" },
  socket = { "string" },
  vault = { "string" },
  limit = { "number" },
  mode = { "string" },
  debounce_ms = { "number" },
  complete_ms = { "number" },
  omnifunc = { "boolean" },
  gf = { "boolean" },
  lsp = { "boolean" },
  picker = { "string" },
}

M.current = vim.deepcopy(defaults)

--- Set `settings` over the defaults. Raises an error that names the first invalid one.
function M.set(settings)
  settings = settings or {}
  for key, value in pairs(settings) do
    if not kinds[key] then
      error(("vaultseek: unknown setting %q; see :help vaultseek-settings"):format(tostring(key)), 0)
    end
    if not vim.tbl_contains(kinds[key], type(value)) then
      local expected = table.concat(kinds[key], " or ")
      error(("vaultseek: %s must be a %s, not a %s"):format(key, expected, type(value)), 0)
    end
  end
  M.current = vim.tbl_extend("force", vim.deepcopy(defaults), settings)
  if type(M.current.command) == "string" then
    M.current.command = { M.current.command }
  end
  for _, key in ipairs({ "socket", "vault" }) do
    local value = M.current[key]
    if value and (value:find("/", 1, true) or value:sub(1, 1) == "~") then
      M.current[key] = vim.fn.fnamemodify(value, ":p"):gsub("(.)/+$", "%1")
    end
  end
end

return M
