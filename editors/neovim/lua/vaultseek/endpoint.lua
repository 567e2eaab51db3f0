--- The address of the daemon, and connecting to it. Safe in callbacks of the event loop.
local config = require("vaultseek.config")
local uv = vim.uv or vim.loop

local M = {}

-- Longer paths do not fit into a socket address on every system, and libuv would truncate them silently.
local PATH_BYTES = 103
local ADDRESS_BYTES = 4096
local MISSING = { ENOENT = true, ECONNREFUSED = true, ENOTDIR = true }

--- Return a directory of vaultseek: below `variable` of the environment, else `folder` of the home directory.
local function directory(variable, folder)
  local set = os.getenv(variable)
  if set and set:sub(1, 1) == "/" then
    return set .. "/vaultseek"
  end
  if uv.os_uname().sysname == "Darwin" then
    folder = "Library/Application Support"
  end
  return ("%s/%s/vaultseek"):format(uv.os_homedir() or "", folder)
end

--- Return the path of the socket: the configured one, else the one beside the indexes.
function M.path()
  return config.current.socket or directory("XDG_DATA_HOME", ".local/share") .. "/run/daemon.sock"
end

--- Return the directory of the log.
function M.state_directory()
  return directory("XDG_STATE_HOME", ".local/state")
end

--- Connect and call `on_done(problem, pipe, secrets)`. `problem.missing` is true if no daemon is running. `secrets` is
--- nil on the socket; on the port it holds the `token` that the client sends and the `proof` that the daemon returns.
function M.connect(on_done)
  local path = M.path()
  local owner = uv.fs_stat(path)
  if path:match("%.tcp$") or not owner then
    return M.connect_port((path:gsub("%.sock$", ".tcp")), on_done)
  end
  if uv.getuid and owner.uid ~= uv.getuid() then
    return on_done({ message = ("the socket %s belongs to another user, so no request was sent"):format(path) })
  end
  local address, folder = M.address(path)
  if not address then
    return on_done({ message = "the socket path is too long for this system: " .. path })
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

--- Connect to the loopback port in the address file `file`.
function M.connect_port(file, on_done)
  local problem, port, secrets = M.read_address(file)
  if problem then
    return on_done(problem)
  end
  local tcp = uv.new_tcp()
  tcp:connect("127.0.0.1", port, function(refused)
    if not refused then
      tcp:nodelay(true)
      return on_done(nil, tcp, secrets)
    end
    tcp:close()
    on_done({ missing = true, message = "no daemon is running" })
  end)
end

--- Read the address file. Returns nil, the port and the secrets; or a problem.
function M.read_address(file)
  local stat = uv.fs_lstat(file)
  if not stat then
    return { missing = true, message = "no daemon is running" }
  end
  local others = stat.mode % 64
  if stat.type ~= "file" or (uv.getuid and stat.uid ~= uv.getuid()) or others ~= 0 then
    return { message = ("other users could read the token in %s; remove the file and start the daemon again"):format(file) }
  end
  local descriptor = uv.fs_open(file, "r", 0)
  local text = descriptor and uv.fs_read(descriptor, ADDRESS_BYTES, 0)
  if descriptor then
    uv.fs_close(descriptor)
  end
  local ok, address = pcall(vim.json.decode, text or "")
  if ok and type(address) == "table" and type(address.port) == "number" and address.token and address.proof then
    return nil, address.port, { token = address.token, proof = address.proof }
  end
  return { message = ("%s cannot be read as an address; remove it and start the daemon again"):format(file) }
end

--- Return an address for the socket `path`, and a descriptor to close afterwards; nil if the path is too long.
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
