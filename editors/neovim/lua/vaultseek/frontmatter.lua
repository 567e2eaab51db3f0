--- Completion in the frontmatter: the name or a value of a property at the cursor.
local M = {}

local FENCE = "^%-%-%-%s*$"
local LINES_MOST = 1000
--- Properties whose values are tags, and are completed as tags.
local TAGS = { tags = true, tag = true }

--- Return the context at the cursor, with the fields of `link` in vaultseek.complete; nil outside the frontmatter.
function M.context(before, after)
  local above = M.above()
  if not above then
    return nil
  end
  local name = before:match("^[%w_\128-\255][%w_ \128-\255-]*$") or (before == "" and "")
  if name then
    return { kind = "property", start = 0, closing = after:match("^%s*:") and "" or ": " }
  end
  local key, value = before:match("^([^%s:#-][^:]*):%s+(.*)$")
  if key then
    return M.value(key, before, value, true)
  end
  value = before:match("^%s*%-%s+(.*)$")
  key = value and M.owner(above)
  return key and M.value(key, before, value, false) or nil
end

--- Return the lines from the opening fence to the line above the cursor, or nil outside the frontmatter.
function M.above()
  local row = vim.api.nvim_win_get_cursor(0)[1]
  if row < 2 or row > LINES_MOST then
    return nil
  end
  local lines = vim.api.nvim_buf_get_lines(0, 0, row - 1, false)
  if not lines[1]:gsub("^\239\187\191", ""):match(FENCE) then
    return nil
  end
  for number = 2, #lines do
    if lines[number]:match(FENCE) or lines[number]:match("^%.%.%.%s*$") then
      return nil
    end
  end
  return lines
end

--- Return the property of a list item below the lines `above`, or nil.
function M.owner(above)
  for number = #above, 2, -1 do
    local key = above[number]:match("^([^%s:#-][^:]*):%s*$")
    if key then
      return key
    elseif not above[number]:match("^%s*%-") then
      return nil
    end
  end
end

--- Return the context of a value, or of an item of a list in brackets, at the end of `value`.
function M.value(key, before, value, brackets)
  key = vim.trim(key):gsub("^([\"'])(.*)%1$", "%2")
  local inside = brackets and value:match("^%[.*$")
  local typed = inside and value:match("[%[,]%s*([^%[,]*)$") or value
  local quote = typed:match("^[\"']")
  typed = quote and typed:sub(2) or typed
  local context = { kind = "value", property = key, start = #before - #typed }
  if TAGS[key:lower()] then
    context.kind, context.property = "tag", nil
  end
  context.written = function(text)
    return M.written(text, quote)
  end
  return context
end

--- Return `text` as YAML, quoted if it would mean something else otherwise. `quote` is a quote typed already.
function M.written(text, quote)
  if quote == "'" then
    return (text:gsub("'", "''")) .. "'"
  end
  local plain = text:match("^[%w_/\128-\255]") and not text:find("[%[%]{},]") and not text:find(":%s")
  plain = plain and not text:find("%s#") and not text:find("[:%s]$")
  if plain and not quote then
    return text
  end
  local escaped = text:gsub("[\\\"]", "\\%0")
  return quote and (escaped .. quote) or ('"%s"'):format(escaped)
end

return M
