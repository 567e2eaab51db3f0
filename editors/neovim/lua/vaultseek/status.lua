--- :VaultStatus: the daemon and its vaults in a floating window.
local client = require("vaultseek.client")
local layout = require("vaultseek.layout")
local say = require("vaultseek.say")

local M = {}

local PROBLEMS_SHOWN = 10
local STATES = {
  opening = "opening",
  indexing = "indexing",
  polling = "ready, but changes are noticed late",
  failing = "cannot be indexed",
  disk_full = "cannot be indexed",
  vault_missing = "unreachable; its index is kept",
}

--- Request the status and show it. Calls `on_shown(lines)`, if given, when it is shown.
function M.open(on_shown)
  client.call("index/status", {}, function(problem, answer)
    if problem then
      return say.warn(problem.message)
    end
    local lines = M.lines(answer)
    M.show(lines)
    if on_shown then
      on_shown(lines)
    end
  end, { start = false })
end

--- Return the answer to index/status as lines of text.
function M.lines(answer)
  local daemon = answer.daemon or {}
  local worker = daemon.worker or {}
  local lines = {
    ("vaultseek %s · pid %s"):format(say.clean(daemon.version), say.clean(daemon.pid)),
    ("model: %s · %s"):format(say.clean(worker.model), say.clean(worker.status)) .. M.because(worker.reason),
  }
  for _, vault in ipairs(answer.vaults or {}) do
    lines[#lines + 1] = ""
    vim.list_extend(lines, M.vault(vault))
  end
  if #(answer.vaults or {}) == 0 then
    lines[#lines + 1] = ""
    lines[#lines + 1] = "no vault is open; add one with `vaultseek vault add`, or search from a note in a folder with .obsidian"
  end
  return lines
end

function M.vault(vault)
  local state = STATES[vault.state] or say.clean(vault.state)
  local lines = {
    ("%s  %s  %s"):format(say.clean(vault.name), say.clean(vault.path), state) .. M.because(vault.reason),
    "  " .. M.progress(vault),
  }
  for _, name in ipairs({ "keyword", "semantic", "graph" }) do
    local lane = (vault.lanes or {})[name]
    if lane and not lane.up then
      lines[#lines + 1] = ("  %s is down"):format(name) .. M.because(lane.reason)
    end
  end
  local problems = vault.problems or {}
  local number = vault.problem_count or #problems
  if number > 0 then
    lines[#lines + 1] = "  " .. say.count(number, "problem")
  end
  for place = 1, math.min(#problems, PROBLEMS_SHOWN) do
    local problem = problems[place]
    lines[#lines + 1] = ("    %s: %s"):format(say.clean(problem.path), say.clean(problem.message or problem.code))
  end
  if number > PROBLEMS_SHOWN then
    lines[#lines + 1] = ("    and %d more; `vaultseek status --json` lists them"):format(number - PROBLEMS_SHOWN)
  end
  return lines
end

function M.progress(vault)
  local parts = { say.count(vault.notes, "note"), say.count(vault.chunks, "passage") }
  if (vault.pending or 0) > 0 then
    parts[#parts + 1] = ("%d embedded, %s left"):format(vault.embedded or 0, say.count(vault.pending, "text"))
  end
  return table.concat(parts, " · ")
end

function M.because(reason)
  return reason and (" (%s)"):format(say.clean(reason)) or ""
end

function M.show(lines)
  local width = 20
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  width = math.max(1, math.min(width, vim.o.columns - 4))
  local height = math.max(1, math.min(#lines, vim.o.lines - 6))
  local frame = {
    width = width,
    height = height,
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
    col = math.max(0, math.floor((vim.o.columns - width) / 2)),
  }
  local float = layout.float(frame, "VaultStatus", true)
  layout.write(float.buffer, lines)
  vim.wo[float.window].wrap = true
  vim.bo[float.buffer].filetype = "vaultseek-status"
  for _, key in ipairs({ "q", "<Esc>" }) do
    vim.keymap.set("n", key, "<Cmd>close<CR>", { buffer = float.buffer, nowait = true, silent = true })
  end
end

return M
