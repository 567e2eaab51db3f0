--- The lists in telescope, if it is installed.
local M = {}

--- Search while the user types.
function M.search(options, where)
  local source = require("vaultseek.requests").search_source(where or require("vaultseek.here").vault())
  M.open(options, "VaultSearch", source)
end

--- Pick one of the places in `list`.
function M.pick(options, title, list)
  M.open(options, title, require("vaultseek.requests").filter_source(list))
end

function M.open(options, title, source)
  options = options or {}
  local values = require("telescope.config").values
  require("telescope.pickers")
    .new(options, {
      prompt_title = title,
      finder = M.finder(source),
      previewer = values.grep_previewer(options),
      -- The daemon has already ranked the results.
      sorter = require("telescope.sorters").empty(),
    })
    :find()
end

--- Return a finder: telescope calls it with the prompt and with callbacks for entries.
function M.finder(source)
  return setmetatable({ close = function() end }, {
    __call = function(_, prompt, process_result, process_complete)
      source(vim.trim(prompt or ""), function(list, notes)
        for number, place in ipairs(list) do
          local entry = M.entry(place)
          entry.index = number
          if process_result(entry) then
            return
          end
        end
        process_complete()
        if #list == 0 and prompt and prompt ~= "" then
          for _, note in ipairs(notes or {}) do
            require("vaultseek.say").info(note)
          end
        end
      end)
    end,
  })
end

function M.entry(place)
  local display_text = ("%s  %s"):format(place.title, require("vaultseek.places").where(place))
  return {
    value = place,
    ordinal = display_text,
    display = display_text,
    filename = place.file,
    lnum = place.line,
    col = 1,
    text = place.text,
  }
end

return M
