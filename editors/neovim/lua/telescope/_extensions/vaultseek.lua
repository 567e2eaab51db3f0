--- :Telescope vaultseek
local function search(options)
  require("vaultseek.telescope").search(options)
end

return require("telescope").register_extension({ exports = { vaultseek = search, search = search } })
