--- vaultseek for Neovim: search, related notes, backlinks and completion from the vaultseek daemon.
---
--- Nothing of what a note or an answer holds is ever run; paths are escaped, text is only shown.
local M = {}

--- Settings, see :help vaultseek-settings. Need not be called.
function M.setup(given)
  require("vaultseek.config").set(given)
end

--- :VaultSearch. With a query and `to_quickfix` the results go to the quickfix list.
function M.search(query, to_quickfix)
  local asking = require("vaultseek.asking")
  local where = require("vaultseek.here").vault()
  query = vim.trim(query or "")
  if to_quickfix then
    if query == "" then
      return require("vaultseek.say").warn(":VaultSearch! needs a query")
    end
    return asking.search(where, query, nil, M.listed("VaultSearch " .. query, true))
  end
  if M.telescope() then
    return require("vaultseek.telescope").search({ default_text = query }, where)
  end
  require("vaultseek.picker").open({ title = "VaultSearch", query = query, source = asking.searching(where) })
end

--- :VaultRelated, for the note that is named, else the one in the buffer.
function M.related(note, to_quickfix)
  M.about("note/related", "VaultRelated", "no other note is like this one", note, to_quickfix)
end

--- :VaultBacklinks, for the note that is named, else the one in the buffer.
function M.backlinks(note, to_quickfix)
  M.about("links/backlinks", "VaultBacklinks", "no other note links to this one", note, to_quickfix)
end

--- :VaultStatus. Starts no daemon.
function M.status()
  require("vaultseek.status").open()
end

function M.about(method, title, none, named, to_quickfix)
  local here = require("vaultseek.here")
  local note = here.note(named)
  if not note then
    return require("vaultseek.say").warn(("this buffer is no note; name one as in :%s Some note"):format(title))
  end
  local on_done = M.listed(title, to_quickfix, none)
  require("vaultseek.asking").about(method, here.vault(), note, on_done)
end

--- What to do with an answer: show its places in a picker or in the quickfix list, or say what is wrong.
function M.listed(title, to_quickfix, none)
  local say = require("vaultseek.say")
  return function(problem, answer)
    if problem then
      return say.warn(problem.message)
    end
    local places = require("vaultseek.places")
    local found = places.places(answer)
    if #found == 0 then
      return say.info(none or table.concat(say.notes(answer), "; "))
    end
    for _, lane in ipairs(answer.partial or {}) do
      say.warn(say.missing(lane))
    end
    if to_quickfix then
      return places.quickfix(found, title)
    end
    M.pick(title, found)
  end
end

function M.pick(title, found)
  if M.telescope() then
    return require("vaultseek.telescope").pick({}, title, found)
  end
  local source = require("vaultseek.asking").sifting(found)
  require("vaultseek.picker").open({ title = title, source = source })
end

--- Whether to pick with telescope: if it is there, unless the settings say otherwise.
function M.telescope()
  local wanted = require("vaultseek.config").current.picker
  return wanted ~= "builtin" and (pcall(require, "telescope"))
end

return M
