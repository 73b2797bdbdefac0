// Bundles src/ into dist/. main.js has a chunk for each command and heavy library, so that a command loads only what it
// needs. agent.js is the same program in one file, so that a running agent needs no other file of its package.
import { rm } from 'node:fs/promises';
import { build } from 'esbuild';
import { bundleOptions } from './bundle-options.mjs';

// CommonJS libraries call require() for Node's own modules.
const banner =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);\n";
const options = { ...bundleOptions, banner: { js: banner } };

await rm('dist', { recursive: true, force: true });
await Promise.all([
  build({ ...options, splitting: true, chunkNames: 'chunks/[name]-[hash]' }),
  build({ ...options, entryPoints: { agent: 'src/main.ts' } }),
]);
