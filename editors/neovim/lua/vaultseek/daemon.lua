--- Starting the daemon.
local config = require("vaultseek.config")

local M = {}

--- Return why the configured command cannot be run, or nil if it can.
function M.problem()
  local program = config.current.command[1] or ""
  if vim.fn.executable(program) == 0 then
    return ("the command %q cannot be run; install vaultseek, or set `command` in setup()"):format(program)
  end
end

--- Run `vaultseek start`, which returns when the daemon answers. Calls `on_done` with nil or an error message.
function M.start(on_done)
  local problem = M.problem()
  if problem then
    return on_done("no daemon is running, and " .. problem)
  end
  local command = vim.list_extend(vim.deepcopy(config.current.command), { "start" })
  local stderr = {}
  local ok, job = pcall(vim.fn.jobstart, command, {
    stderr_buffered = true,
    on_stderr = function(_, lines)
      stderr = lines
    end,
    on_exit = function(_, code)
      on_done(code ~= 0 and M.reason(stderr, code) or nil)
    end,
  })
  if not ok or job <= 0 then
    on_done("the daemon cannot be started: " .. tostring(ok and command[1] or job))
  else
    require("vaultseek.say").info("starting the daemon …")
  end
end

--- Return why the start failed: the last line of its standard error.
function M.reason(lines, code)
  for number = #lines, 1, -1 do
    if lines[number]:find("%S") then
      return "the daemon does not start: " .. lines[number]
    end
  end
  return ("the daemon does not start: `vaultseek start` exited with status %d"):format(code)
end

return M
