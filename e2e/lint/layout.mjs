// Lays Lua out by stylua.toml, or tells which files are not laid out so. Usage: layout.mjs [--write] FILE...
import { readFileSync, writeFileSync } from "node:fs";
import * as stylua from "@johnnymorganz/stylua";

const write = process.argv[2] === "--write";
const files = process.argv.slice(write ? 3 : 2);
const settings = readFileSync(new URL("../../stylua.toml", import.meta.url), "utf8")
  .split("\n")
  .map((line) => line.match(/^(\w+) = (?:"(\w+)"|(\d+))$/))
  .filter((found) => found);

// A setting is a number, or a word of the list that belongs to it.
const lists = {
  syntax: stylua.LuaVersion,
  indent_type: stylua.IndentType,
  quote_style: stylua.QuoteStyle,
  call_parentheses: stylua.CallParenType,
  collapse_simple_statement: stylua.CollapseSimpleStatement,
};

function config() {
  const made = stylua.Config.new();
  for (const [, name, word, number] of settings) {
    const value = word === undefined ? Number(number) : lists[name]?.[word];
    if (value === undefined) throw new Error(`stylua.toml: ${name} = ${word} is not known here`);
    made[name] = value;
  }
  return made;
}

// What it lays out is not always what it would leave as it is: a line that was broken may then be short enough.
function laidOut(text) {
  for (let n = 0; n < 5; n += 1) {
    const wanted = stylua.formatCode(text, config(), undefined, stylua.OutputVerification.Full);
    if (wanted === text) return text;
    text = wanted;
  }
  return text;
}

let wrong = 0;
for (const file of files) {
  const text = readFileSync(file, "utf8");
  const wanted = laidOut(text);
  if (wanted === text) continue;
  wrong += 1;
  if (write) writeFileSync(file, wanted);
  else {
    const lines = text.split("\n");
    const line = wanted.split("\n").findIndex((other, n) => other !== lines[n]) + 1;
    console.log(`${file}:${line}: not as StyLua lays it out`);
  }
}
console.log(`StyLua: ${files.length} files, ${wrong} ${write ? "written anew" : "to be laid out"}`);
process.exit(wrong && !write ? 1 : 0);
