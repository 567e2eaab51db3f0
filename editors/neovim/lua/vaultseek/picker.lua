--- A picker in floating windows: a prompt, the results below it, and a preview of the passage.
---
--- Only one can be open at a time. It sends what the user types to `source` and shows the places that `source` returns.
local client = require("vaultseek.client")
local config = require("vaultseek.config")
local layout = require("vaultseek.layout")
local places = require("vaultseek.places")
local say = require("vaultseek.say")

local M = {}

local space = vim.api.nvim_create_namespace("vaultseek")
local LINES_BEFORE = 100
local LINES_AFTER = 300
local SHOWN_ABOVE = 4

--- The open picker, or nil. Its fields include places, selected, query and pending.
M.current = nil

local KEYS = {
  { { "n", "i" }, "<CR>", "act('edit')" },
  { { "n", "i" }, "<C-x>", "act('split')" },
  { { "n", "i" }, "<C-v>", "act('vsplit')" },
  { { "n", "i" }, "<C-t>", "act('tabedit')" },
  { { "n", "i" }, "<C-q>", "act('quickfix')" },
  { { "n", "i" }, "<C-c>", "close()" },
  { { "n" }, "<Esc>", "close()" },
  { { "n" }, "q", "close()" },
  { { "n", "i" }, "<Down>", "move(1)" },
  { { "n", "i" }, "<C-n>", "move(1)" },
  { { "n" }, "j", "move(1)" },
  { { "n", "i" }, "<Up>", "move(-1)" },
  { { "n", "i" }, "<C-p>", "move(-1)" },
  { { "n" }, "k", "move(-1)" },
}

--- Open a picker. options: `title`; `query`, the initial text; `source(query, show)`, which calls
--- `show(places, notes, folded)` at most once, now or later; the last `folded` places appear only when the selection reaches them.
function M.open(options)
  M.close()
  local picker = {
    title = options.title,
    source = options.source,
    places = {},
    folded = 0,
    selected = 1,
    sent = 0,
    marks = {},
    origin = vim.api.nvim_get_current_win(),
  }
  M.current = picker
  picker.windows = layout.open(options.title)
  vim.bo[picker.windows.preview.buffer].syntax = "markdown"
  M.map(picker.windows.prompt.buffer)
  M.watch(picker)
  vim.api.nvim_buf_set_lines(picker.windows.prompt.buffer, 0, -1, false, { say.clean(options.query) })
  vim.cmd("startinsert!")
  M.ask()
end

--- Close the picker, if one is open, and return to the window it was opened from.
function M.close()
  local picker = M.current
  if not picker then
    return
  end
  M.current = nil
  if picker.timer then
    picker.timer:close()
  end
  layout.close(picker.windows)
  if vim.api.nvim_win_is_valid(picker.origin) then
    vim.api.nvim_set_current_win(picker.origin)
  end
end

--- Open the selected place by `how`: edit, split, vsplit or tabedit; or send all places to quickfix. While results are
--- pending, do so when they arrive.
function M.act(how)
  local picker = M.current
  if not picker then
    return
  end
  if picker.pending then
    picker.afterwards = how
    return
  end
  local place = picker.places[picker.selected]
  if not place then
    return
  end
  M.close()
  if how == "quickfix" then
    places.quickfix(picker.places, (picker.title .. " " .. picker.query):gsub("%s+$", ""))
  else
    places.go(place, how)
  end
end

--- Select the next (1) or previous (-1) place, wrapping around. After the last one, the folded places appear.
function M.move(by)
  local picker = M.current
  if picker and #picker.places > 0 then
    if picker.folded > 0 and picker.selected + by > #picker.places - picker.folded then
      picker.folded = 0
      M.draw(picker)
    end
    picker.selected = (picker.selected - 1 + by) % (#picker.places - picker.folded) + 1
    M.select(picker)
  end
end

function M.map(buffer)
  for _, key in ipairs(KEYS) do
    for _, mode in ipairs(key[1]) do
      -- Leave insert mode in the prompt first, so that the cursor of the window below does not move.
      local leave = mode == "i" and not key[3]:find("^move") and "<Esc>" or ""
      local action = ("%s<Cmd>lua require('vaultseek.picker').%s<CR>"):format(leave, key[3])
      vim.keymap.set(mode, key[2], action, { buffer = buffer, nowait = true, silent = true })
    end
  end
end

function M.watch(picker)
  local buffer = picker.windows.prompt.buffer
  picker.timer = (vim.uv or vim.loop).new_timer()
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "TextChangedP" }, {
    buffer = buffer,
    callback = function()
      if M.current == picker and M.typed(picker) ~= picker.query then
        picker.pending = true
        -- At once if the last query is answered; otherwise in the next pause in typing.
        if picker.answered == picker.sent then
          M.ask()
        else
          picker.timer:start(config.current.debounce_ms, 0, vim.schedule_wrap(M.ask))
        end
      end
    end,
  })
  vim.api.nvim_create_autocmd("WinLeave", {
    buffer = buffer,
    callback = function()
      vim.schedule(function()
        if M.current == picker then
          M.close()
        end
      end)
    end,
  })
end

function M.typed(picker)
  local lines = vim.api.nvim_buf_get_lines(picker.windows.prompt.buffer, 0, -1, false)
  return vim.trim(table.concat(lines, " "))
end

function M.ask()
  local picker = M.current
  if not picker then
    return
  end
  picker.timer:stop()
  picker.query = M.typed(picker)
  picker.sent = picker.sent + 1
  picker.pending = true
  local number = picker.sent
  picker.source(picker.query, function(list, notes, folded)
    if M.current == picker and picker.sent == number then
      picker.answered = number
      M.show(picker, list, notes, folded)
    end
  end)
end

function M.show(picker, list, notes, folded)
  -- The user may have typed more since this query was sent.
  picker.pending = M.typed(picker) ~= picker.query
  picker.places, picker.selected, picker.notes, picker.folded = list, 1, notes or {}, folded or 0
  M.draw(picker)
  M.select(picker)
  local afterwards = picker.afterwards
  if afterwards and not picker.pending then
    picker.afterwards = nil
    M.act(afterwards)
  end
end

--- Write the list: the places, how many are folded, and the notes on the answer.
function M.draw(picker)
  local lines, marks = {}, {}
  for number = 1, #picker.places - picker.folded do
    local place = picker.places[number]
    lines[number] = ("%s  %s"):format(place.title, places.where(place))
    marks[number] = #place.title
  end
  if picker.folded > 0 then
    lines[#lines + 1] = say.count(picker.folded, "less certain note") .. ": move down"
  end
  for _, note in ipairs(picker.notes) do
    lines[#lines + 1] = say.clean(note)
  end
  picker.marks = marks
  layout.write(picker.windows.list.buffer, lines)
end

function M.select(picker)
  local list, preview = picker.windows.list, picker.windows.preview
  local place = picker.places[picker.selected]
  M.paint(picker)
  vim.api.nvim_win_set_cursor(list.window, { place and picker.selected or 1, 0 })
  if not place then
    return layout.write(preview.buffer, {})
  end
  local first = math.max(1, place.line - LINES_BEFORE)
  local params = { vault = place.vault, note = place.path, start_line = first, end_line = place.line + LINES_AFTER }
  params.supersedes = picker.previewed
  picker.previewed = client.call("note/get", params, function(problem, answer)
    if M.current == picker and picker.places[picker.selected] == place then
      M.preview(preview, place, first, problem, answer)
    end
  end)
end

--- Highlight the list: the whole selected line, and the title and path of all others.
function M.paint(picker)
  local buffer = picker.windows.list.buffer
  vim.api.nvim_buf_clear_namespace(buffer, space, 0, -1)
  for row = 0, vim.api.nvim_buf_line_count(buffer) - 1 do
    local title = picker.marks[row + 1]
    if not title then
      vim.api.nvim_buf_add_highlight(buffer, space, "VaultseekNote", row, 0, -1)
    elseif row + 1 == picker.selected then
      local options = { end_row = row + 1, end_col = 0, hl_group = "VaultseekSelected", hl_eol = true }
      vim.api.nvim_buf_set_extmark(buffer, space, row, 0, vim.tbl_extend("force", options, { strict = false }))
    else
      vim.api.nvim_buf_add_highlight(buffer, space, "VaultseekTitle", row, 0, title)
      vim.api.nvim_buf_add_highlight(buffer, space, "VaultseekPath", row, title, -1)
    end
  end
end

--- Show the note around the matching line, with that line near the top and its words marked.
function M.preview(preview, place, first, problem, answer)
  local buffer = preview.buffer
  local text = problem and problem.message or answer.text or ""
  local lines = vim.split(text:gsub("\r", ""), "\n")
  layout.write(buffer, lines)
  vim.api.nvim_buf_clear_namespace(buffer, space, 0, -1)
  local row = place.line - first
  if problem or row >= #lines then
    return
  end
  vim.api.nvim_buf_add_highlight(buffer, space, "VaultseekPassage", row, 0, -1)
  for number, line in ipairs(lines) do
    for _, word in ipairs(place.words) do
      M.mark(buffer, number - 1, line, word)
    end
  end
  vim.api.nvim_win_set_cursor(preview.window, { row + 1, 0 })
  vim.wo[preview.window].scrolloff = SHOWN_ABOVE
  vim.api.nvim_win_call(preview.window, function()
    vim.cmd("normal! zt")
  end)
end

function M.mark(buffer, row, line, word)
  local start = 1
  while true do
    local from, to = line:find(word, start, true)
    if not from then
      return
    end
    vim.api.nvim_buf_add_highlight(buffer, space, "VaultseekMatch", row, from - 1, to)
    start = to + 1
  end
end

return M
