--- The connection to the daemon: one per Neovim, opened on first use and reopened when it breaks.
---
--- Everything except starting the daemon runs in callbacks of the event loop, so that completion can wait for a
--- response while the editor does nothing else.
local config = require("vaultseek.config")
local daemon = require("vaultseek.daemon")
local endpoint = require("vaultseek.endpoint")
local frame = require("vaultseek.frame")

local M = {}

local PROTOCOL = 1

local last_id = 0
local link -- { pipe, pending = { [id] = call } } while connected
local waiting = {} -- calls to send once connected
local connecting = false

local connect

--- Send a request. `on_done(problem, answer)` is called once; `problem` has `code` and `message`.
---
--- options.start: start the daemon if none runs (default: the setting `autostart`). options.fast: `on_done` may run in
--- a callback of the event loop. Returns the request's id, for `cancel` and `supersedes`.
function M.call(method, params, on_done, options)
  options = options or {}
  last_id = last_id + 1
  local start = options.start
  if start == nil then
    start = config.current.autostart
  end
  local call = {
    id = last_id,
    method = method,
    params = params or {},
    start = start,
    done = options.fast and on_done or vim.schedule_wrap(on_done),
  }
  if call.params.supersedes then
    M.forget_waiting(call.params.supersedes)
  end
  if link and link.ready then
    M.send(call)
  else
    waiting[#waiting + 1] = call
    if not connecting and not link then
      connect()
    end
  end
  return call.id
end

--- Send a request and wait at most `ms` milliseconds, without starting the daemon. Returns a problem, or nil and the
--- answer.
function M.wait(method, params, ms)
  local problem, answer, answered
  local id = M.call(method, params, function(...)
    problem, answer = ...
    answered = true
  end, { start = false, fast = true })
  vim.wait(ms, function()
    return answered
  end, 5, true)
  if not answered then
    M.cancel(id)
    return { code = "cancelled", message = "the daemon did not answer in time" }
  end
  return problem, answer
end

--- Cancel a request; its `on_done` is not called. Ignores unknown and finished requests.
function M.cancel(id)
  M.forget_waiting(id)
  if link and link.pending[id] then
    link.pending[id] = nil
    link.pipe:write(frame.encode({ jsonrpc = "2.0", method = "$/cancelRequest", params = { id = id } }))
  end
end

--- Disconnect; the next call connects again.
function M.close()
  local old = link
  link = nil
  if old and not old.pipe:is_closing() then
    old.pipe:close()
  end
end

function M.forget_waiting(id)
  for number, call in ipairs(waiting) do
    if call.id == id then
      return table.remove(waiting, number)
    end
  end
end

function M.send(call)
  local params = next(call.params) and call.params or vim.empty_dict()
  link.pending[call.id] = call
  local text = frame.encode({ jsonrpc = "2.0", id = call.id, method = call.method, params = params })
  link.pipe:write(text)
end

local function refuse(calls, problem)
  for _, call in ipairs(calls) do
    call.done(problem)
  end
end

--- Remove and return the waiting calls: all, or only those that must not start the daemon.
local function pop_waiting(only_without_start)
  local popped, left = {}, {}
  for _, call in ipairs(waiting) do
    table.insert((only_without_start and call.start) and left or popped, call)
  end
  waiting = left
  return popped
end

local function lost(from, message)
  if link ~= from then
    return
  end
  local pending = from.pending
  M.close()
  local again, given_up = {}, {}
  for _, call in pairs(pending) do
    -- The connection may have belonged to a daemon that was restarted, so each call is repeated once.
    table.insert((message or call.again) and given_up or again, call)
    call.again = true
  end
  refuse(given_up, { code = "unavailable", message = message or "the daemon disconnected; try again" })
  if #again > 0 then
    vim.list_extend(waiting, again)
    if not connecting then
      connect()
    end
  end
end

local function receive(from, message)
  local call = message.id and from.pending[message.id]
  if message.error then
    local wrong = type(message.error) == "table" and message.error or {}
    local code = type(wrong.data) == "table" and wrong.data.code or "internal"
    local problem = { code = code, message = tostring(wrong.message or "the daemon answered with an error") }
    if call then
      from.pending[message.id] = nil
      call.done(problem)
    elseif not message.id then
      lost(from, problem.message)
    end
  elseif call and not message.method then
    from.pending[message.id] = nil
    call.done(nil, message.result or {})
  end
end

--- On the port, wait until the daemon has proved its identity before sending any other request.
local function on_initialize(new, secrets, problem, answer)
  if problem or (answer or {}).proof ~= secrets.proof then
    local wrong = problem and problem.message or "the program on the port is not the daemon; no request was sent"
    if link == new then
      lost(new, wrong)
    end
    return refuse(pop_waiting(), { code = "unavailable", message = wrong })
  end
  new.ready = true
  for _, call in ipairs(pop_waiting()) do
    M.send(call)
  end
end

local function on_connect(pipe, secrets)
  local new = { pipe = pipe, pending = {}, ready = not secrets }
  link = new
  local read = frame.reader()
  pipe:read_start(function(problem, data)
    if problem or not data then
      return lost(new)
    end
    local ok, messages = pcall(read, data)
    if not ok then
      return lost(new, tostring(messages))
    end
    for _, message in ipairs(messages) do
      receive(new, message)
    end
  end)
  last_id = last_id + 1
  M.send({
    id = last_id,
    method = "initialize",
    params = {
      protocol_version = PROTOCOL,
      client = "neovim",
      token = (secrets or {}).token,
      time_zone = os.getenv("TZ"), -- the daemon knows its machine's, so only another one is sent
    },
    again = true,
    done = function(problem, answer)
      if secrets then
        on_initialize(new, secrets, problem, answer)
      end
    end,
  })
  if new.ready then
    for _, call in ipairs(pop_waiting()) do
      M.send(call)
    end
  end
end

--- Start the daemon and connect again. A second failure is reported.
local function start_and_connect()
  vim.schedule(function()
    daemon.start(function(reason)
      if reason then
        connecting = false
        return refuse(pop_waiting(), { code = "unavailable", message = reason })
      end
      connect(true)
    end)
  end)
end

function connect(started)
  connecting = true
  endpoint.connect(function(problem, pipe, secrets)
    if pipe then
      connecting = false
      return on_connect(pipe, secrets)
    end
    local message = problem.message
    if problem.missing then
      message = message .. "; start one with `vaultseek start`"
    end
    local startable = problem.missing and not started
    refuse(pop_waiting(startable), { code = "unavailable", missing = problem.missing, message = message })
    if #waiting > 0 then
      return start_and_connect()
    end
    connecting = false
  end)
end

return M
