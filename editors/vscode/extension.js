// VS Code starts `gen5 debug --dap` and speaks the Debug Adapter Protocol with it.
const vscode = require("vscode");

exports.activate = (context) => {
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("gen5", {
      createDebugAdapterDescriptor() {
        const path = vscode.workspace.getConfiguration("gen5").get("path") || "gen5";
        return new vscode.DebugAdapterExecutable(path, ["debug", "--dap"]);
      },
    }),
  );
};
