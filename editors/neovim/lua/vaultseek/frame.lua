--- Frames and the JSON in them. No I/O, and nothing that a callback of the event loop may not use.
local M = {}

local HEADER_BYTES = 1024
local ANSWER_BYTES = 16 * 1024 * 1024

--- The frame of a message. Bytes that are no UTF-8 are replaced.
function M.encode(message)
  local body = vim.json.encode(M.valid(message))
  return ("Content-Length: %d\r\n\r\n%s"):format(#body, body)
end

--- A function that takes the next bytes of a stream and returns the messages that they complete.
--- It raises an error (a text) when they are not of this protocol; the stream is of no use after that.
function M.reader()
  local parts, size, wanted = {}, 0, nil

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
        error("what answers on the socket does not speak this protocol", 0)
      end
      return false
    end
    wanted = tonumber(text:sub(1, last):lower():match("content%-length:%s*(%d+)\r\n"))
    if not wanted or wanted > ANSWER_BYTES then
      error("what answers on the socket does not speak this protocol", 0)
    end
    keep(text:sub(last + 1))
    return true
  end

  return function(data)
    local messages = {}
    parts[#parts + 1] = data
    size = size + #data
    while wanted or read_head() do
      if size < wanted then
        break
      end
      local text = joined()
      messages[#messages + 1] = M.decode(text:sub(1, wanted))
      keep(text:sub(wanted + 1))
      wanted = nil
    end
    return messages
  end
end

--- The message in a body; null in objects is nil. Raises an error (a text) if there is none.
function M.decode(body)
  local ok, message = pcall(vim.json.decode, body, { luanil = { object = true } })
  if not ok or type(message) ~= "table" then
    error("the daemon sent something that is no message; is it another version?", 0)
  end
  return message
end

--- `value` with every text in it made valid UTF-8.
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

--- `text` with "?" for each byte that is not part of a character.
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
