--- The same lists in telescope, where that is installed.
local M = {}

--- Search as one types.
function M.search(options, where)
  local source = require("vaultseek.asking").searching(where or require("vaultseek.here").vault())
  M.open(options, "VaultSearch", source)
end

--- Pick one of places that are there already.
function M.pick(options, title, found)
  M.open(options, title, require("vaultseek.asking").sifting(found))
end

function M.open(options, title, source)
  options = options or {}
  local values = require("telescope.config").values
  require("telescope.pickers")
    .new(options, {
      prompt_title = title,
      finder = M.finder(source),
      previewer = values.grep_previewer(options),
      -- The daemon has ranked them.
      sorter = require("telescope.sorters").empty(),
    })
    :find()
end

--- A finder is called with the prompt and with what takes entries, now or later.
function M.finder(source)
  return setmetatable({ close = function() end }, {
    __call = function(_, prompt, process_result, process_complete)
      source(vim.trim(prompt or ""), function(found, notes)
        for number, place in ipairs(found) do
          local entry = M.entry(place)
          entry.index = number
          if process_result(entry) then
            return
          end
        end
        process_complete()
        if #found == 0 and prompt and prompt ~= "" then
          for _, note in ipairs(notes or {}) do
            require("vaultseek.say").info(note)
          end
        end
      end)
    end,
  })
end

function M.entry(place)
  local shown = ("%s  %s:%d"):format(place.title, require("vaultseek.say").clean(place.path), place.line)
  return {
    value = place,
    ordinal = shown,
    display = shown,
    filename = place.file,
    lnum = place.line,
    col = 1,
    text = place.text,
  }
end

return M
