--- The omnifunc. It completes links (`[[`, `[[Note#`, `[[Note#^`), tags (`#`), and properties in the frontmatter.
local client = require("vaultseek.client")
local config = require("vaultseek.config")
local frontmatter = require("vaultseek.frontmatter")
local here = require("vaultseek.here")
local say = require("vaultseek.say")

local M = {}

M.NAME = "v:lua.require'vaultseek.complete'.omnifunc"

local context -- of the last call with findstart: kind, start and more

--- Set the omnifunc of a buffer. The previous one still completes where this one has nothing to offer.
function M.attach(buffer)
  local before = vim.bo[buffer].omnifunc
  if not config.current.omnifunc or before == M.NAME then
    return
  end
  vim.b[buffer].vaultseek_omnifunc_before = before
  vim.bo[buffer].omnifunc = M.NAME
end

--- Complete, as described in :help complete-functions.
function M.omnifunc(findstart, base)
  if findstart == 1 or findstart == "1" then
    local column = vim.api.nvim_win_get_cursor(0)[2]
    local line = vim.api.nvim_get_current_line()
    local before, after = line:sub(1, column), line:sub(column + 1)
    context = M.link(before, after) or frontmatter.context(before, after) or M.tag(before)
    if context then
      return context.start
    end
    return M.other(findstart, base) or -3
  end
  if not context then
    return M.other(findstart, base) or {}
  end
  return { words = M.items(context, base), refresh = "always" }
end

--- Return the link at the cursor, between `before` and `after`; nil without one: kind, start (a byte offset), note,
--- what closes it, whether it has an alias already, and the quotation mark around it in the frontmatter.
function M.link(before, after)
  local start, inner = before:match("()%[%[([^%[%]|]*)$")
  if not start then
    return nil
  end
  local rest = after:match("^([^%[%]]*)%]%]") -- of a link that is closed
  local context = { kind = "note", closing = rest and "" or "]]", named = (rest or ""):find("|", 1, true) ~= nil }
  local note, anchor = inner:match("^(.-)#([^#]*)$")
  local typed = inner
  if note then
    local block = anchor:match("^%^(.*)$")
    context.kind, context.note, typed = block and "block" or "heading", note:match("^[^#]*"), block or anchor
  end
  context.start = #before - #typed
  context.quote = frontmatter.quote(before)
  return context
end

--- Return the tag at the cursor, or nil.
function M.tag(before)
  local tag = (" " .. before):match("[%s(]#([%w_/\128-\255-]*)$")
  return tag and { kind = "tag", start = #before - #tag } or nil
end

function M.items(context, typed)
  local params = here.vault()
  params.kind, params.text = context.kind, typed
  params.deadline_ms = config.current.complete_ms
  params.property = context.property
  if context.note then
    params.note = here.note(context.note)
    if not params.note then
      return {}
    end
  end
  local problem, answer = client.wait("complete", params, config.current.complete_ms)
  if problem then
    M.report(problem)
    return {}
  end
  return M.words(context, answer.items or {})
end

function M.words(context, items)
  local names, words = M.names(items), {}
  for _, item in ipairs(items) do
    local text = item.text
    -- A name with control characters cannot be typed, and inserting one would not be safe.
    if type(text) == "string" and not text:find("%c") then
      local word = { word = text, abbr = text, equal = 1, dup = 1, icase = 1 }
      if context.kind == "note" then
        M.as_link(word, item, names, context.named)
      elseif context.kind == "block" then
        word.menu = say.clean(item.of)
      elseif context.kind == "heading" then
        word.menu = item.level and ("#"):rep(item.level) or nil
      else
        word.word = context.written and context.written(text) or text
        word.menu = item.count and say.count(item.count, "note") or nil
      end
      word.word = frontmatter.within(word.word, context.quote) .. (context.closing or "")
      words[#words + 1] = word
    end
  end
  return words
end

--- Count the different notes of the list by file name.
function M.names(items)
  local names, seen = {}, {}
  for _, item in ipairs(items) do
    local path = item.path
    if path and not seen[path] then
      seen[path] = true
      local name = M.name(path)
      names[name] = (names[name] or 0) + 1
    end
  end
  return names
end

--- Make `word` a link: by file name, or by path if several notes have that name; another title follows a bar.
function M.as_link(word, item, names, named)
  local path = say.clean(item.path)
  local name = M.name(path)
  local target = (names[name] or 0) > 1 and path:gsub("%.md$", "") or name
  word.word = (named or item.is == "name") and target or (target .. "|" .. item.text)
  word.menu = path
end

function M.name(path)
  return (path:match("[^/]*$"):gsub("%.md$", ""))
end

--- Report a problem. Completion does not wait for the daemon to start, but starts it for the next time.
function M.report(problem)
  if problem.missing and config.current.autostart then
    client.call("initialize", { protocol_version = 1, client = "neovim" }, function(wrong)
      if wrong then
        say.warn(wrong.message)
      else
        say.info("the daemon is running; complete again")
      end
    end)
  elseif problem.code ~= "cancelled" then
    say.warn(problem.message)
  end
end

--- Return what the previous omnifunc returns, or nil.
function M.other(findstart, base)
  local before = vim.b.vaultseek_omnifunc_before
  if not before or before == "" or before:find("^v:lua") then
    return nil
  end
  local ok, answer = pcall(vim.fn[before], findstart, base)
  return ok and answer or nil
end

return M
