--- Floating windows: their layout, opening, writing and closing them.
local M = {}

local WIDTH_MOST, HEIGHT_MOST = 150, 36
local BESIDE_FROM = 100

--- Open the three windows of a picker and enter the prompt. Each has `window` and `buffer`.
function M.open(title)
  local frames = M.frames(vim.o.columns, vim.o.lines - vim.o.cmdheight)
  local windows = {}
  for _, name in ipairs({ "preview", "list", "prompt" }) do
    windows[name] = M.float(frames[name], name == "prompt" and title or nil, name == "prompt")
  end
  vim.bo[windows.prompt.buffer].filetype = "vaultseek"
  vim.wo[windows.preview.window].wrap = true
  vim.wo[windows.preview.window].linebreak = true
  vim.wo[windows.list.window].wrap = false
  vim.bo[windows.list.buffer].modifiable = false
  vim.bo[windows.preview.buffer].modifiable = false
  return windows
end

--- Return row, column, width and height of the windows without borders. The preview is beside the list, or below it
--- on a narrow screen.
function M.frames(columns, lines)
  local width = math.max(20, math.min(columns - 4, WIDTH_MOST))
  local height = math.max(8, math.min(lines - 4, HEIGHT_MOST))
  local row = math.max(0, math.floor((lines - height) / 2) - 1)
  local col = math.max(0, math.floor((columns - width) / 2) - 1)
  local function frame(r, c, w, h)
    return { row = r, col = c, width = math.max(1, w), height = math.max(1, h) }
  end
  if width >= BESIDE_FROM then
    local left = math.floor(width / 2)
    return {
      prompt = frame(row, col, left, 1),
      list = frame(row + 3, col, left, height - 5),
      preview = frame(row, col + left + 2, width - left - 2, height - 2),
    }
  end
  local upper = math.floor((height - 6) / 2)
  return {
    prompt = frame(row, col, width, 1),
    list = frame(row + 3, col, width, upper),
    preview = frame(row + 5 + upper, col, width, height - 6 - upper),
  }
end

--- Open a floating window with an empty buffer that is deleted with it.
function M.float(frame, title, enter)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "wipe"
  local options = vim.tbl_extend("force", frame, { relative = "editor", style = "minimal", border = "rounded" })
  if title and vim.fn.has("nvim-0.9") == 1 then
    options.title = " " .. title .. " "
  end
  local window = vim.api.nvim_open_win(buffer, enter or false, options)
  -- The colours of floating windows are meant for menus; a note uses the colours of ordinary windows.
  vim.wo[window].winhighlight = "NormalFloat:VaultseekNormal,FloatBorder:VaultseekNormal"
  return { window = window, buffer = buffer }
end

--- Replace the text of a read-only buffer.
function M.write(buffer, lines)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
end

--- Close windows; some may be closed already.
function M.close(windows)
  for _, each in pairs(windows) do
    if vim.api.nvim_win_is_valid(each.window) then
      vim.api.nvim_win_close(each.window, true)
    end
  end
end

return M
