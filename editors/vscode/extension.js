// VS Code starts `gen5 debug --dap` and speaks the Debug Adapter Protocol with it. `gen5: Show the machine` is a page that
// follows the program: mbarriers, what is in flight, Tensor Memory, tiles.
const vscode = require("vscode");

let panel;

async function show(session, frameId) {
  if (!panel || !session || session.type !== "gen5") return;
  try {
    const page = await session.customRequest("evaluate", { expression: "show all", context: "html", frameId });
    panel.webview.html = page.result;
  } catch (refused) {
    panel.webview.html = `<p>${String(refused.message).replace(/[&<]/g, (c) => (c === "&" ? "&amp;" : "&lt;"))}</p>`;
  }
}

async function show_stopped(session, threadId) {
  const trace = await session.customRequest("stackTrace", { threadId, levels: 1 });
  if (trace.stackFrames.length) await show(session, trace.stackFrames[0].id);
}

exports.activate = (context) => {
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("gen5", {
      createDebugAdapterDescriptor() {
        const path = vscode.workspace.getConfiguration("gen5").get("path") || "gen5";
        return new vscode.DebugAdapterExecutable(path, ["debug", "--dap"]);
      },
    }),
    vscode.debug.registerDebugAdapterTrackerFactory("gen5", {
      createDebugAdapterTracker(session) {
        return {
          onDidSendMessage(message) {
            if (panel && message.type === "event" && message.event === "stopped" && message.body.threadId)
              show_stopped(session, message.body.threadId).catch(() => {});
          },
        };
      },
    }),
    vscode.commands.registerCommand("gen5.showMachine", async () => {
      if (!panel) {
        panel = vscode.window.createWebviewPanel("gen5", "gen5: the machine", vscode.ViewColumn.Beside);
        panel.onDidDispose(() => (panel = undefined));
      }
      const frame = vscode.debug.activeStackItem;
      await show(vscode.debug.activeDebugSession, frame && frame.frameId);
    }),
  );
};
