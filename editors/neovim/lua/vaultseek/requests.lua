--- Requests whose answer is a list of places, and sources for pickers.
local client = require("vaultseek.client")
local config = require("vaultseek.config")
local places = require("vaultseek.places")
local say = require("vaultseek.say")

local M = {}

--- Return a source for pickers that searches while the user types. `where` is the vault, as parameters of the protocol.
--- A new search supersedes the previous one.
function M.search_source(where)
  local last
  return function(query, show)
    if query == "" then
      if last then
        client.cancel(last)
      end
      return show({}, { "Type to search; filter with tag:work/pumps, path:Projects/, [status:open]" })
    end
    last = M.search(where, query, last, function(problem, answer)
      if not problem then
        local found = places.places(answer)
        for _, place in ipairs(found) do
          place.query = query
        end
        show(found, say.notes(answer), answer.less_certain)
      elseif problem.code ~= "cancelled" then
        show({}, { problem.message })
      end
    end, true)
  end
end

--- Search. `last` is the id of the search that this one supersedes, or nil. `typing`: the query is still being typed.
--- Returns the id.
function M.search(where, query, last, on_done, typing)
  local current = config.current
  local params = { query = query, limit = current.limit, mode = current.mode, supersedes = last, typing = typing }
  return client.call("search", vim.tbl_extend("force", where, params), on_done)
end

--- Request the notes or links around a note: `method` is note/related or links/backlinks.
function M.about(method, where, note, on_done)
  local limit = method == "note/related" and config.current.limit or nil
  client.call(method, vim.tbl_extend("force", where, { note = note, limit = limit }), on_done)
end

--- Return a source for pickers that shows those of the places `all` that contain every typed word.
function M.filter_source(all)
  return function(query, show)
    local words = vim.split(query:lower(), "%s+", { trimempty = true })
    show(vim.tbl_filter(function(place)
      local text = (place.title .. " " .. place.path .. " " .. place.text):lower()
      for _, word in ipairs(words) do
        if not text:find(word, 1, true) then
          return false
        end
      end
      return true
    end, all))
  end
end

return M
