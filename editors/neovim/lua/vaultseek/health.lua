--- :checkhealth vaultseek
local M = {}

local TIMEOUT_MS = 2000

--- Return the reporting functions, whose names changed in Neovim 0.10.
local function reporter()
  local health = vim.health or require("health")
  return {
    start = health.start or health.report_start,
    ok = health.ok or health.report_ok,
    info = health.info or health.report_info,
    warn = health.warn or health.report_warn,
    error = health.error or health.report_error,
  }
end

--- Report on Neovim, the command, the daemon and its vaults. Does not start the daemon.
function M.check()
  local report = reporter()
  report.start("vaultseek")
  M.check_neovim(report)
  M.check_command(report)
  M.check_daemon(report)
end

function M.check_neovim(report)
  if vim.fn.has("nvim-0.7") == 1 then
    report.ok("Neovim is new enough")
  else
    report.error("Neovim 0.7 or newer is needed")
  end
  if require("vaultseek").telescope() then
    report.info("lists are shown in telescope")
  else
    report.info("lists are shown in floating windows")
  end
end

function M.check_command(report)
  local command = require("vaultseek.config").current.command
  local problem = require("vaultseek.daemon").problem()
  if problem then
    report.warn(problem, { "the plugin can use a running daemon, but cannot start one" })
  else
    report.ok("the command works: " .. table.concat(command, " "))
  end
end

function M.check_daemon(report)
  local say = require("vaultseek.say")
  report.info("socket: " .. require("vaultseek.endpoint").path())
  local problem, answer = require("vaultseek.client").wait("index/status", {}, TIMEOUT_MS)
  if problem then
    local log = require("vaultseek.endpoint").state_directory() .. "/daemon.log"
    local advice = { "run `vaultseek start`, or any search, which also starts the daemon", "its log is " .. log }
    return report.warn(say.clean(problem.message), advice)
  end
  local daemon = answer.daemon or {}
  report.ok(("the daemon answers: version %s, pid %s"):format(say.clean(daemon.version), say.clean(daemon.pid)))
  M.check_worker(report, daemon.worker or {})
  for _, vault in ipairs(answer.vaults or {}) do
    M.check_vault(report, vault)
  end
  if #(answer.vaults or {}) == 0 then
    report.info("no vault is open yet")
  end
end

function M.check_worker(report, worker)
  local status = require("vaultseek.status")
  local words = ("search by meaning: %s"):format(tostring(worker.status)) .. status.because(worker.reason)
  if worker.status == "ready" then
    report.ok(words)
  else
    report.warn(words)
  end
end

function M.check_vault(report, vault)
  local status = require("vaultseek.status")
  local words = table.concat(status.vault(vault), "\n")
  if vault.state == "ready" then
    report.ok(words)
  else
    report.warn(words)
  end
end

return M
