-- The commands of vaultseek, and the language server in notes; the rest is loaded on first use.
if vim.g.loaded_vaultseek then
  return
end
vim.g.loaded_vaultseek = true

if vim.fn.has("nvim-0.7") == 0 then
  vim.api.nvim_err_writeln("vaultseek: requires Neovim 0.7 or newer")
  return
end

local function command(name, action, options)
  vim.api.nvim_create_user_command(name, function(arguments)
    require("vaultseek")[action](arguments.args, arguments.bang)
  end, options)
end

command("VaultSearch", "search", { nargs = "*", bang = true, desc = "Search the notes of a vault" })
command("VaultRelated", "related", { nargs = "*", bang = true, desc = "Notes similar to this one" })
command("VaultBacklinks", "backlinks", { nargs = "*", bang = true, desc = "Lines that link to this note" })
command("VaultStatus", "status", { nargs = 0, desc = "The daemon and its vaults" })

local group = vim.api.nvim_create_augroup("vaultseek", { clear = true })
vim.api.nvim_create_autocmd("FileType", {
  group = group,
  pattern = "markdown",
  callback = function(event)
    require("vaultseek.lsp").attach(event.buf)
  end,
})

-- Readable with any colours: no foreground without its background.
local function set_highlights()
  local function highlight(name, value)
    vim.api.nvim_set_hl(0, name, vim.tbl_extend("force", value, { default = true }))
  end
  highlight("VaultseekNormal", { link = "Normal" })
  highlight("VaultseekTitle", { bold = true })
  highlight("VaultseekPath", { link = "Comment" })
  highlight("VaultseekNote", { link = "WarningMsg" })
  highlight("VaultseekSelected", { reverse = true })
  highlight("VaultseekPassage", { bold = true })
  highlight("VaultseekMatch", { bold = true, fg = "#000000", bg = "#ffd75f", ctermfg = 0, ctermbg = 221 })
end

set_highlights()
vim.api.nvim_create_autocmd("ColorScheme", { group = group, callback = set_highlights })
