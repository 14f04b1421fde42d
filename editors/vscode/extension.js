// Starts `reactor lsp` for the manifests of the settings.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = async () => {
  const settings = vscode.workspace.getConfiguration("reactor");
  const server = { command: settings.get("command"), args: ["lsp", ...settings.get("arguments")] };
  const selector = { scheme: "file", language: "yaml", pattern: settings.get("files") };
  client = new LanguageClient("reactor", "reactor", server, { documentSelector: [selector] });
  await client.start();
};

exports.deactivate = () => client?.stop();
