-- The commands and the omnifunc of vaultseek; the rest is loaded on first use.
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
    require("vaultseek.complete").attach(event.buf)
  end,
})

local function highlight(name, link)
  vim.api.nvim_set_hl(0, name, { link = link, default = true })
end

highlight("VaultseekTitle", "Title")
highlight("VaultseekPath", "Comment")
highlight("VaultseekNote", "WarningMsg")
highlight("VaultseekSelected", "PmenuSel")
highlight("VaultseekPassage", "Visual")
