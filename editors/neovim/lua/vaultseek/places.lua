--- Places in notes: the locations of results, opening them, and the quickfix list.
local say = require("vaultseek.say")
local uv = vim.uv or vim.loop

local M = {}

--- Return the place of a result or link of `answer`, or nil if its path leads out of the vault.
function M.place(answer, result)
  local root, path = answer.vault_path, result.path
  if type(root) ~= "string" or type(path) ~= "string" or ("/" .. path .. "/"):find("/../", 1, true) then
    return nil
  end
  local line = tonumber(result.line or result.start_line) or 1
  local headings = result.heading_path or {}
  local heading = headings[#headings]
  local title = say.clean(result.title)
  local name = say.clean(path:match("[^/]*$"):gsub("%.md$", ""))
  -- The file's name comes first, because an editor opens files.
  local label = type(result.file_name) == "string" and ("%s (%s)"):format(name, title) or name
  if heading and say.clean(heading) ~= title then
    label = label .. " › " .. say.clean(heading)
  end
  if type(result.currency) == "table" and type(result.currency.text) == "string" then
    label = ("%s (%s)"):format(label, say.clean(result.currency.text))
  end
  return {
    file = root:gsub("/$", "") .. "/" .. path,
    vault = root,
    path = path,
    rank = result.rank,
    line = math.max(1, line),
    part = type(result.place) == "string" and result.place or nil,
    column = math.max(1, tonumber(result.column) or 1),
    last = tonumber(result.end_line) or line,
    title = label,
    text = say.clean(result.preview or result.text),
    words = M.words(result),
  }
end

--- Return the words that the preview of a result marks, as the note writes them.
function M.words(result)
  local words, seen = {}, {}
  for _, mark in ipairs(type(result.preview) == "string" and result.highlights or {}) do
    -- Marks count characters.
    local word = vim.fn.strcharpart(result.preview, mark[1], mark[2] - mark[1])
    if word:find("%S") and not seen[word] then
      seen[word] = true
      words[#words + 1] = word
    end
  end
  return words
end

--- Return the places of all results or links of an answer.
function M.places(answer)
  local places = {}
  for _, result in ipairs(answer.results or answer.links or {}) do
    places[#places + 1] = M.place(answer, result)
  end
  return places
end

--- Return the place of a result as shown in a list: path and line, or the part of a PDF or canvas.
function M.where(place)
  local part = place.part and "#" .. say.clean(place.part) or (":%d"):format(place.line)
  return say.clean(place.path) .. part
end

--- True if the file has the lines that the daemon shows, unlike a canvas or a PDF.
function M.has_lines(path)
  local extension = path:lower():match("%.(%w+)$")
  return extension == "md" or extension == "txt" or extension == "org"
end

--- Show a file that editors cannot show in the system's default program. False for other files.
function M.view(file)
  local extension = file:lower():match("%.(%w+)$")
  local viewed = { pdf = true, png = true, jpg = true, jpeg = true, webp = true, bmp = true, tif = true, tiff = true }
  if not viewed[extension] then
    return false
  end
  if vim.ui.open then
    local _, problem = vim.ui.open(file)
    return true, problem and say.warn(problem)
  end
  local opener = vim.fn.has("mac") == 1 and "open" or "xdg-open"
  if vim.fn.executable(opener) == 0 then
    say.warn(("%s is not installed, but is needed to show %s"):format(opener, say.clean(file)))
  else
    vim.fn.jobstart({ opener, file }, { detach = true })
  end
  return true
end

--- Open the note of `place` at its line. `how`: edit, split, vsplit or tabedit.
function M.go(place, how)
  if place.query then
    local opened = { vault = place.vault, query = place.query, note = place.path, position = place.rank }
    require("vaultseek.client").call("search/opened", opened, function() end)
  end
  if M.view(place.file) then
    return
  end
  local commands = { edit = "edit", split = "split", vsplit = "vsplit", tabedit = "tabedit" }
  vim.cmd("normal! m'")
  -- A note with unsaved changes cannot be reloaded, and need not be.
  if commands[how] ~= "edit" or uv.fs_realpath(vim.fn.expand("%:p")) ~= uv.fs_realpath(place.file) then
    local ok, problem = pcall(vim.cmd, (commands[how] or "edit") .. " " .. vim.fn.fnameescape(place.file))
    if not ok then
      return say.warn(problem)
    end
  end
  if not M.has_lines(place.path) then
    -- The file contains the id of a node and the name of a view unchanged.
    return place.part and vim.fn.search("\\V" .. vim.fn.escape(place.part, "\\"), "cw")
  end
  local line = math.min(place.line, vim.api.nvim_buf_line_count(0))
  local text = vim.api.nvim_buf_get_lines(0, line - 1, line, false)[1] or ""
  local column = line == place.line and vim.fn.byteidxcomp(text, place.column - 1) or 0
  vim.api.nvim_win_set_cursor(0, { line, math.max(0, column) })
  vim.cmd("normal! zvzz")
end

--- Send places to a new quickfix list and open it.
function M.quickfix(places, title)
  local items = {}
  for number, place in ipairs(places) do
    local text = place.text ~= "" and place.text or place.title
    items[number] = { filename = place.file, lnum = place.line, text = text }
  end
  vim.fn.setqflist({}, " ", { title = say.clean(title), items = items })
  vim.cmd("botright copen")
end

return M
