--- Frames and the JSON in them. No I/O. Safe in callbacks of the event loop.
local M = {}

local HEADER_BYTES = 1024
local ANSWER_BYTES = 16 * 1024 * 1024

--- Return the frame of a message. Invalid UTF-8 is replaced.
function M.encode(message)
  local body = vim.json.encode(M.valid(message))
  return ("Content-Length: %d\r\n\r\n%s"):format(#body, body)
end

--- Return a function that takes the next bytes of a stream and returns the messages that they complete. It raises a
--- string if the bytes do not follow the protocol; the stream cannot be used after that.
function M.reader()
  local parts, size, length = {}, 0, nil

  local function joined()
    if #parts > 1 then
      parts = { table.concat(parts) }
    end
    return parts[1] or ""
  end

  local function keep(rest)
    parts, size = { rest }, #rest
  end

  local function read_head()
    local text = joined()
    local last = select(2, text:find("\r\n\r\n", 1, true))
    if not last then
      if size > HEADER_BYTES then
        error("the program on the socket does not speak this protocol", 0)
      end
      return false
    end
    length = tonumber(text:sub(1, last):lower():match("content%-length:%s*(%d+)\r\n"))
    if not length or length > ANSWER_BYTES then
      error("the program on the socket does not speak this protocol", 0)
    end
    keep(text:sub(last + 1))
    return true
  end

  return function(data)
    local messages = {}
    parts[#parts + 1] = data
    size = size + #data
    while length or read_head() do
      if size < length then
        break
      end
      local text = joined()
      messages[#messages + 1] = M.decode(text:sub(1, length))
      keep(text:sub(length + 1))
      length = nil
    end
    return messages
  end
end

--- Decode a body; null in objects becomes nil. Raises a string if the body is not a message.
function M.decode(body)
  local ok, message = pcall(vim.json.decode, body, { luanil = { object = true } })
  if not ok or type(message) ~= "table" then
    error("the daemon sent an invalid message; is it a different version?", 0)
  end
  return message
end

--- Return `value` with every string in it made valid UTF-8.
function M.valid(value)
  if type(value) == "string" then
    return M.text(value)
  elseif type(value) ~= "table" then
    return value
  elseif next(value) == nil then
    return value
  end
  local copy = {}
  for key, item in pairs(value) do
    copy[key] = M.valid(item)
  end
  return copy
end

--- Return `text` with "?" for each byte that is not part of a character.
function M.text(text)
  if not text:find("[\128-\255]") then
    return text
  end
  local starts, parts = vim.str_utf_pos(text), {}
  for number, first in ipairs(starts) do
    local last = (starts[number + 1] or #text + 1) - 1
    local lonely = first == last and text:byte(first) >= 128
    parts[number] = lonely and "?" or text:sub(first, last)
  end
  return table.concat(parts)
end

return M
