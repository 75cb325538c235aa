-- Neovim without a display debugs a kernel: a breakpoint, a step, a step back, Tensor Memory. Run by editors_test.py: SETTINGS is what
-- notes/debugging.md says to set, and PROGRAM, SOURCE and LINE are in the environment.
local dap = require("dap")
assert(loadstring(os.getenv("SETTINGS")))()

local function wait(what, test)
  assert(vim.wait(30000, test, 20), "waited in vain: " .. what)
end

-- Does it, and returns the line at which the program stands afterwards.
local function move(act)
  if dap.session() then
    dap.session().current_frame = nil
  end
  act()
  wait("a stop", function()
    return dap.session() and dap.session().current_frame
  end)
  return dap.session().current_frame.line
end

local function say(...)
  io.stdout:write(string.format(...), "\n")
end

local function main()
  vim.cmd("filetype on")
  vim.cmd("edit " .. os.getenv("SOURCE"))
  vim.api.nvim_win_set_cursor(0, {tonumber(os.getenv("LINE")), 0})
  dap.set_breakpoint()
  local settings = assert(dap.configurations[vim.bo.filetype], "no configuration for files of type " .. vim.bo.filetype)[1]
  local with = {program = os.getenv("PROGRAM"), args = {"--part", "smallest"}}
  say("stopped at line %d", move(function()
    dap.run(vim.tbl_extend("force", settings, with))
  end))
  -- Otherwise the next warp would stop there before this one has made its step.
  dap.clear_breakpoints()
  say("next leads to line %d", move(dap.step_over))
  say("back leads to line %d", move(dap.step_back))
  local shown
  dap.session():request("evaluate", {expression = "show tmem 0 2 0 4 /f", context = "repl"}, function(wrong, answer)
    shown = wrong and tostring(wrong) or answer.result
  end)
  wait("an answer of the console", function()
    return shown
  end)
  say("%s", shown)
  dap.disconnect()
  wait("the end", function()
    return not dap.session()
  end)
end

local ended, wrong = pcall(main)
if not ended then
  io.stderr:write(tostring(wrong), "\n")
end
vim.cmd(ended and "qall!" or "cquit!")
