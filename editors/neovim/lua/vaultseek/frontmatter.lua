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
  local key, value = M.property(above, before)
  return key and M.value(key, before, value, after) or nil
end

--- Return the property at the cursor and what is written of its value, or of an item of its list; or nil.
function M.property(above, before)
  local key, value = before:match("^([^%s:#-][^:]*):%s+(.*)$")
  if key then
    return key, value:find("^%[") and M.item(value:sub(2)) or value
  end
  value = before:match("^%s*%-%s+(.*)$")
  return value and M.owner(above), value
end

--- Return the last item of a list in brackets that is not closed; a comma in quotation marks is text.
function M.item(list)
  local item = list:match("^%s*(.*)$")
  local quote = item:match("^[\"']")
  local stop = 1
  if quote then
    stop = M.closing(item:sub(2), quote)
    if not stop then
      return item
    end
    stop = stop + 1
  end
  local comma = item:find(",", stop, true)
  return comma and M.item(item:sub(comma + 1)) or item
end

--- Return the position of the quotation mark that ends `text`, or nil.
function M.closing(text, quote)
  local skipped = quote == "'" and "''" or "\\."
  local clean = text:gsub(skipped, "  ")
  return clean:find(quote, 1, true)
end

--- Return the quotation mark that the value at the cursor begins with, or nil.
function M.quote(before)
  local above = M.above()
  local key, value = M.property(above or {}, before)
  return above and key and value:match("^[\"']") or nil
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

--- Return the context of a value of which `written` stands at the end of `before`.
function M.value(key, before, written, after)
  key = vim.trim(key):gsub("^([\"'])(.*)%1$", "%2")
  local quote = written:match("^[\"']")
  local typed = quote and written:sub(2) or written
  local context = { kind = "value", property = key, start = #before - #typed, quote = quote }
  if TAGS[key:lower()] then
    context.kind, context.property = "tag", nil
  end
  if quote then
    local stop = M.closing(after, quote)
    local closed = stop and after:sub(stop + 1):match("^%s*$") or stop and after:sub(stop + 1):match("^%s*[,%]#]")
    context.closing = closed and "" or quote
  else
    context.written = M.written
  end
  return context
end

--- Return `text` as YAML, quoted if it would mean something else otherwise.
function M.written(text)
  local plain = text:match("^[%w_/\128-\255]") and not text:find("[%[%]{},]") and not text:find(":%s")
  plain = plain and not text:find("%s#") and not text:find("[:%s]$")
  return plain and text or ('"%s"'):format(M.within(text, '"'))
end

--- Return `text` as YAML has it between two of these quotation marks.
function M.within(text, quote)
  if quote == "'" then
    return (text:gsub("'", "''"))
  end
  return quote and (text:gsub("[\\\"]", "\\%0")) or text
end

return M
