--- Messages for the user: notifications, and the notes below the results of a search.
local M = {}

function M.info(message)
  vim.notify("vaultseek: " .. M.clean(message), vim.log.levels.INFO)
end

function M.warn(message)
  vim.notify("vaultseek: " .. M.clean(message), vim.log.levels.WARN)
end

--- Return `text` on one line and without control characters.
function M.clean(text)
  return (tostring(text or ""):gsub("%c+", " "))
end

function M.count(number, word)
  number = tonumber(number) or 0
  return ("%d %s%s"):format(number, word, number == 1 and "" or "s")
end

--- Return the message for an entry of `partial`.
function M.missing(lane)
  if lane.lane == "vault" then
    return "Results may be incomplete: " .. M.clean(lane.reason)
  end
  return ("Without the %s lane: %s"):format(M.clean(lane.lane), M.clean(lane.reason))
end

--- Return true if none of the best notes has many of the query's words or is near in meaning.
function M.is_weak(answer)
  return answer.weak == true and #(answer.results or {}) > 0
end

--- Return the notes on an answer: no match, lanes that were left out, an index that is not complete.
function M.notes(answer)
  local notes = {}
  local index = type(answer.index) == "table" and answer.index or {}
  if M.is_weak(answer) then
    notes[#notes + 1] = "No match; these are the closest notes"
  end
  if #(answer.results or {}) == 0 then
    local empty = index.notes == 0
    local nearest = type(answer.nearest) == "table"
      and ("No note matches; the nearest is %s, but it is not close"):format(M.clean(answer.nearest.path))
    notes[#notes + 1] = empty and "No note matches: the vault has no notes yet; see :VaultStatus"
      or nearest
      or "No note matches; try other or fewer words"
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
