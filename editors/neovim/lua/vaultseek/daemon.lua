--- Starting the daemon.
local config = require("vaultseek.config")

local M = {}

--- Why the configured command cannot be run, or nil if it can.
function M.lacking()
  local program = config.current.command[1] or ""
  if vim.fn.executable(program) == 0 then
    return ("the command %q cannot be run; install vaultseek, or name it with `command` in setup()"):format(program)
  end
end

--- Run `vaultseek start`, which returns when a daemon answers. `on_done(message)`: nil, or why there is none.
function M.start(on_done)
  local lacking = M.lacking()
  if lacking then
    return on_done("no daemon is running, and " .. lacking)
  end
  local command = vim.list_extend(vim.deepcopy(config.current.command), { "start" })
  local said = {}
  local ok, job = pcall(vim.fn.jobstart, command, {
    stderr_buffered = true,
    on_stderr = function(_, lines)
      said = lines
    end,
    on_exit = function(_, code)
      on_done(code ~= 0 and M.reason(said, code) or nil)
    end,
  })
  if not ok or job <= 0 then
    on_done("the daemon cannot be started: " .. tostring(ok and command[1] or job))
  else
    require("vaultseek.say").info("starting the daemon …")
  end
end

--- Why the start failed: the last line that it said.
function M.reason(lines, code)
  for number = #lines, 1, -1 do
    if lines[number]:find("%S") then
      return "the daemon does not start: " .. lines[number]
    end
  end
  return ("the daemon does not start: `vaultseek start` ended with %d"):format(code)
end

return M
