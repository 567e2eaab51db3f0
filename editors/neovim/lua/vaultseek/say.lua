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

--- Return the remarks on an answer: no match, parts left out, and notes not indexed yet.
function M.notes(answer)
  local notes = {}
  for _, remark in ipairs(answer.remarks or {}) do
    local text = M.clean(remark.text)
    notes[#notes + 1] = text:sub(1, 1):upper() .. text:sub(2)
  end
  return notes
end

return M
