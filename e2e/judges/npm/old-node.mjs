// The conformance suite names a function of `fs` that Node 20 does not have, in a part that is not used here. With this
// it loads there too: `node --import ./old-node.mjs …`. A Node that has the function is left as it is.
import fs from "node:fs";
import { register } from "node:module";

if (!fs.globSync) {
  const shim = `export * from "node:fs"; export { default } from "node:fs";
    export const globSync = () => { throw new Error("this Node has no globSync"); };`;
  const url = (text) => `data:text/javascript,${encodeURIComponent(text)}`;
  register(
    url(`export const resolve = (what, from, next) =>
      what === "fs" && from.parentURL?.includes("/@modelcontextprotocol/conformance/")
        ? { url: ${JSON.stringify(url(shim))}, shortCircuit: true }
        : next(what, from);`),
  );
}
