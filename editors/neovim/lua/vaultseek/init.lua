--- vaultseek for Neovim: search, related notes, backlinks and completion from the vaultseek daemon.
---
--- Nothing in a note or an answer is executed: paths are escaped, text is only displayed.
local M = {}

--- Change settings, see :help vaultseek-settings. Optional.
function M.setup(settings)
  require("vaultseek.config").set(settings)
end

--- Run :VaultSearch. With `to_quickfix`, send the results to the quickfix list.
function M.search(query, to_quickfix)
  local requests = require("vaultseek.requests")
  local where = require("vaultseek.here").vault()
  query = vim.trim(query or "")
  if to_quickfix then
    if query == "" then
      return require("vaultseek.say").warn(":VaultSearch! needs a query")
    end
    return requests.search(where, query, nil, M.show_places("VaultSearch " .. query, true))
  end
  if M.telescope() then
    return require("vaultseek.telescope").search({ default_text = query }, where)
  end
  require("vaultseek.picker").open({ title = "VaultSearch", query = query, source = requests.search_source(where) })
end

--- Run :VaultRelated for `note`, else for the note in the buffer.
function M.related(note, to_quickfix)
  M.about("note/related", "VaultRelated", "no other note is similar to this one", note, to_quickfix)
end

--- Run :VaultBacklinks for `note`, else for the note in the buffer.
function M.backlinks(note, to_quickfix)
  M.about("links/backlinks", "VaultBacklinks", "no other note links to this one", note, to_quickfix)
end

--- Run :VaultStatus. Does not start the daemon.
function M.status()
  require("vaultseek.status").open()
end

function M.about(method, title, none, name, to_quickfix)
  local here = require("vaultseek.here")
  local note = here.note(name)
  if not note then
    return require("vaultseek.say").warn(("this buffer is not a note; name one, as in :%s Some note"):format(title))
  end
  local on_done = M.show_places(title, to_quickfix, none)
  require("vaultseek.requests").about(method, here.vault(), note, on_done)
end

--- Return a callback that shows the places of an answer in a picker or the quickfix list, or reports a problem.
function M.show_places(title, to_quickfix, none)
  local say = require("vaultseek.say")
  return function(problem, answer)
    if problem then
      return say.warn(problem.message)
    end
    local places = require("vaultseek.places")
    local list = places.places(answer)
    if #list == 0 then
      return say.info(none or table.concat(say.notes(answer), "; "))
    end
    for _, note in ipairs(say.notes(answer)) do
      say.warn(note)
    end
    if to_quickfix then
      return places.quickfix(list, title)
    end
    M.pick(title, list)
  end
end

function M.pick(title, list)
  if M.telescope() then
    return require("vaultseek.telescope").pick({}, title, list)
  end
  local source = require("vaultseek.requests").filter_source(list)
  require("vaultseek.picker").open({ title = title, source = source })
end

--- Return true if lists are shown in telescope: it is installed, and the settings allow it.
function M.telescope()
  local picker = require("vaultseek.config").current.picker
  return picker ~= "builtin" and (pcall(require, "telescope"))
end

return M
