--- The language server in the notes of a vault. Neovim itself then shows diagnostics, hovers, references and symbols,
--- renames, and offers code actions; the plugin starts the server, requests completions and link targets,
--- and shows the lists of actions.
local client = require("vaultseek.client")
local config = require("vaultseek.config")
local here = require("vaultseek.here")
local uv = vim.uv or vim.loop

local M = {}

local started = {} -- ids of the servers by root, for Neovim without vim.lsp.start

--- Attach the language server to a buffer, if its file is in a vault.
function M.attach(buffer)
  local current = config.current
  local file = here.file(buffer)
  if not current.lsp or current.socket or not file then
    return
  end
  M.root(vim.fn.fnamemodify(file, ":h"), function(root)
    if vim.api.nvim_buf_is_valid(buffer) then
      M.start(buffer, root)
    end
  end)
end

--- Call `on_done` with the vault around `folder`: one of Obsidian, or one of a running daemon.
function M.root(folder, on_done)
  local place, above = folder, nil
  while place ~= above do
    if uv.fs_stat(place .. "/.obsidian") then
      return on_done(place)
    end
    place, above = vim.fn.fnamemodify(place, ":h"), place
  end
  client.call("vault/list", {}, function(_, answer)
    for _, vault in ipairs(answer and answer.vaults or {}) do
      if vim.startswith(folder .. "/", vault.path .. "/") then
        return on_done(vault.path)
      end
    end
  end, { start = false })
end

function M.start(buffer, root)
  require("vaultseek.complete").attach(buffer)
  require("vaultseek.follow").attach(buffer)
  local settings = { name = "vaultseek", cmd = M.command(), root_dir = root }
  if vim.lsp.start then
    return vim.api.nvim_buf_call(buffer, function()
      vim.lsp.start(settings)
    end)
  end
  settings.on_exit = function()
    started[root] = nil
  end
  started[root] = started[root] or vim.lsp.start_client(settings)
  if started[root] then
    vim.lsp.buf_attach_client(buffer, started[root])
  end
end

--- Return the command of the server according to the settings.
function M.command()
  local current = config.current
  local command = vim.list_extend(vim.deepcopy(current.command), { "lsp" })
  if current.vault then
    vim.list_extend(command, { "--vault", current.vault })
  end
  return current.autostart and command or vim.list_extend(command, { "--no-start" })
end

--- Return the server's answer for the cursor, and its client; nil without a server or an answer in time.
function M.ask(method, timeout_ms)
  local client = M.client()
  if not client then
    return nil
  end
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  local answers = vim.lsp.buf_request_sync(0, method, params, timeout_ms) or {}
  return (answers[client.id] or {}).result, client
end

--- Return the client of the current buffer, or nil.
function M.client()
  local clients = vim.lsp.get_clients and vim.lsp.get_clients({ bufnr = 0 }) or vim.lsp.buf_get_clients(0)
  for _, client in pairs(clients) do
    if client.name == "vaultseek" then
      return client
    end
  end
end

--- Return the byte offset of a position in the current line.
function M.byte(position, client)
  local line, encoding = vim.api.nvim_get_current_line(), client.offset_encoding
  return encoding == "utf-8" and position.character or vim.str_byteindex(line, position.character, encoding == "utf-16")
end

-- Actions and lenses of the server show their lists in the plugin's own windows.
for name, action in pairs({ ["vaultseek.related"] = "related", ["vaultseek.backlinks"] = "backlinks" }) do
  vim.lsp.commands[name] = function()
    require("vaultseek")[action]()
  end
end

return M
