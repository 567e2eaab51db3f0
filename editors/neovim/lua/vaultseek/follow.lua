--- Following links: `gf` on a wikilink opens the note that it leads to, at the heading or block.
local client = require("vaultseek.client")
local config = require("vaultseek.config")
local here = require("vaultseek.here")
local places = require("vaultseek.places")
local say = require("vaultseek.say")

local M = {}

--- Map `gf` in a buffer, unless the user has mapped it already.
function M.attach(buffer)
  if config.current.gf and vim.api.nvim_buf_call(buffer, M.is_free) then
    vim.keymap.set("n", "gf", M.follow, { buffer = buffer, desc = "Follow the link, or go to the file" })
  end
end

function M.is_free()
  return vim.fn.maparg("gf", "n") == ""
end

--- Open what the link at the cursor leads to; without one, do what `gf` does elsewhere.
function M.follow()
  local column = vim.api.nvim_win_get_cursor(0)[2] + 1
  local link = M.link(vim.api.nvim_get_current_line(), column)
  if not link then
    local ok, problem = pcall(vim.cmd, ("normal! %sgf"):format(vim.v.count > 0 and vim.v.count or ""))
    return ok or say.warn(tostring(problem):match("E%d+:.*") or problem)
  end
  local where = here.vault()
  if link.target == "" then
    return M.go(where, here.note(), link)
  end
  M.resolve(where, link, function(path, root)
    local file = path and places.place({ vault_path = root }, { path = path })
    if file and not path:find("%.md$") then
      return places.go(file, "edit") -- a picture, say
    end
    M.go(where, path or link.target, link)
  end)
end

--- Return the wikilink around byte `column` of a line: target, and heading or block if it names one. Nil if there is none.
function M.link(line, column)
  for first, inner, last in line:gmatch("()%[%[([^%[%]]+)%]%]()") do
    if first <= column and column < last then
      local text = inner:gsub("\\?|.*$", "")
      local target, anchor = text:match("^([^#]*)#(.*)$")
      local block = anchor and anchor:match("^%^(.+)$")
      return {
        target = vim.trim(target or text),
        heading = not block and anchor and vim.trim(anchor:match("[^#]*$")) or nil,
        block = block,
      }
    end
  end
end

--- Call `on_done` with the path that the link leads to, and the vault; with nil if the daemon has not read the link yet.
function M.resolve(where, link, on_done)
  local note = here.note()
  if not note then
    return on_done()
  end
  local params = vim.tbl_extend("force", where, { note = note })
  client.call("links/outgoing", params, function(_, answer)
    for _, each in ipairs(answer and answer.links or {}) do
      if vim.trim(each.target) == link.target and type(each.resolved) == "string" then
        return on_done(each.resolved, answer.vault_path)
      end
    end
    on_done()
  end)
end

--- Open `note`, a path or a name, at the link's heading or block.
function M.go(where, note, link)
  if not note then
    return say.warn("this buffer is not a note")
  end
  local params = vim.tbl_extend("force", where, { note = note, start_line = 1, end_line = 1 })
  client.call("note/get", params, function(problem, answer)
    if problem then
      return say.warn(problem.message)
    end
    local line = link.heading and M.line_of(answer.headings, link.heading)
    if not link.block then
      return M.open(answer, line, link.heading)
    end
    local about = vim.tbl_extend("force", where, { kind = "block", text = link.block, note = answer.path })
    client.call("complete", about, function(_, blocks)
      for _, block in ipairs(blocks and blocks.items or {}) do
        if block.text == link.block then
          return M.open(answer, block.line)
        end
      end
      M.open(answer, nil, "^" .. link.block)
    end)
  end)
end

--- Return the line of the heading called `name`, or nil.
function M.line_of(headings, name)
  for _, heading in ipairs(headings or {}) do
    if vim.trim(heading.text):lower() == name:lower() then
      return heading.line
    end
  end
end

function M.open(note, line, missing)
  local place = places.place(note, { path = note.path, line = line or 1, title = note.title })
  if place then
    places.go(place, "edit")
    if missing and not line then
      say.info(("%s has no %s"):format(say.clean(note.path), say.clean(missing)))
    end
  end
end

return M
