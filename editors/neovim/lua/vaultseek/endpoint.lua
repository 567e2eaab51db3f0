--- Where the daemon listens, and connecting to it. Usable from callbacks of the event loop.
local config = require("vaultseek.config")
local uv = vim.uv or vim.loop

local M = {}

-- Longer paths do not fit into a socket address everywhere, and libuv would cut them without a word.
local PATH_BYTES = 103
local MISSING = { ENOENT = true, ECONNREFUSED = true, ENOTDIR = true }

--- The path of the socket: as configured, else in the runtime directory, else in the state directory.
function M.path()
  if config.current.socket then
    return config.current.socket
  end
  local runtime = os.getenv("XDG_RUNTIME_DIR")
  local kind = runtime and runtime ~= "" and uv.fs_stat(runtime)
  if kind and kind.type == "directory" then
    return runtime .. "/vaultseek/daemon.sock"
  end
  return M.state_directory() .. "/run/daemon.sock"
end

--- Where the daemon keeps its log.
function M.state_directory()
  local state = os.getenv("XDG_STATE_HOME")
  if state and state:sub(1, 1) == "/" then
    return state .. "/vaultseek"
  end
  local home = uv.os_homedir() or ""
  if uv.os_uname().sysname == "Darwin" then
    return home .. "/Library/Application Support/vaultseek"
  end
  return home .. "/.local/state/vaultseek"
end

--- Connect. `on_done(problem, pipe)` follows; `problem.missing` says that no daemon runs.
function M.connect(on_done)
  local path = M.path()
  local owner = uv.fs_stat(path)
  if not owner then
    return on_done({ missing = true, message = "no daemon is running" })
  end
  if uv.getuid and owner.uid ~= uv.getuid() then
    return on_done({ message = ("the socket %s belongs to another user; nothing was sent"):format(path) })
  end
  local address, folder = M.address(path)
  if not address then
    return on_done({ message = "the path of the socket is too long for this system: " .. path })
  end
  local pipe = uv.new_pipe(false)
  local function connected(problem)
    if folder then
      uv.fs_close(folder)
    end
    if not problem then
      return on_done(nil, pipe)
    end
    pipe:close()
    local code = tostring(problem):match("^E%u+")
    if MISSING[code] then
      return on_done({ missing = true, message = "no daemon is running" })
    end
    on_done({ message = ("the socket %s cannot be used: %s"):format(path, tostring(problem)) })
  end
  local request, problem = pipe:connect(address, connected)
  if not request and problem then
    connected(problem)
  end
end

--- What to connect to in order to reach `path`, and a descriptor to close afterwards; nil where there is no way.
function M.address(path)
  if #path <= PATH_BYTES then
    return path
  end
  local folder, name = path:match("^(.*)/([^/]+)$")
  local descriptor = folder and uv.fs_stat("/proc/self/fd") and uv.fs_open(folder, "r", 0)
  if descriptor then
    return ("/proc/self/fd/%d/%s"):format(descriptor, name), descriptor
  end
end

return M
