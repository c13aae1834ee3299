// An engine in Node, whose compiler and threads ask more of the kernel than others do. Must never do anything else.
"use strict";

const lines = require("node:readline").createInterface({ input: process.stdin });
lines.on("line", () => console.log('{"ok":true}'));
