--- Words for the user: notices, and what an answer says about its own gaps.
local M = {}

function M.info(message)
  vim.notify("vaultseek: " .. M.clean(message), vim.log.levels.INFO)
end

function M.warn(message)
  vim.notify("vaultseek: " .. M.clean(message), vim.log.levels.WARN)
end

--- Text of a note or of the daemon on one line and without control characters.
function M.clean(text)
  return (tostring(text or ""):gsub("%c+", " "))
end

function M.count(number, word)
  number = tonumber(number) or 0
  return ("%d %s%s"):format(number, word, number == 1 and "" or "s")
end

--- In words, what an entry of `partial` means.
function M.missing(lane)
  if lane.lane == "vault" then
    return "Answered from what is known: " .. M.clean(lane.reason)
  end
  return ("Without the %s lane: %s"):format(M.clean(lane.lane), M.clean(lane.reason))
end

--- What the user has to know about an answer: nothing found, lanes that took no part, an index that is not done.
function M.notes(answer)
  local notes = {}
  local index = type(answer.index) == "table" and answer.index or {}
  if #(answer.results or {}) == 0 then
    local empty = index.notes == 0
    local nearest = type(answer.nearest) == "table"
      and ("Nothing found; %s comes nearest, but not near"):format(M.clean(answer.nearest.path))
    notes[#notes + 1] = empty and "Nothing found: the vault has no notes yet; :VaultStatus says what it is doing"
      or nearest
      or "Nothing found; other or fewer words may help"
  end
  for _, lane in ipairs(answer.partial or {}) do
    notes[#notes + 1] = M.missing(lane)
  end
  if (index.pending or 0) > 0 then
    notes[#notes + 1] = M.count(index.pending, "text") .. " still to be embedded for search by meaning"
  end
  for _, note in ipairs((answer.interpreted or {}).notes or {}) do
    notes[#notes + 1] = M.clean(note)
  end
  return notes
end

return M
