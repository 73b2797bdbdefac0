// Bundles src/ into dist/: a small entry, and a chunk for each command and each heavy library, loaded on use. Commands
// whose start counts are there once more, each in a folder of its own and in few pieces, because loading the many small
// chunks that all commands share costs more than their content.
import { rm } from 'node:fs/promises';
import { build } from 'esbuild';
import { bundleOptions, only, ownBuilds, withoutChildProcess } from './bundle-options.mjs';

const options = {
  ...bundleOptions,
  chunkNames: 'chunks/[name]-[hash]',
  splitting: true,
  // CommonJS libraries call require() for Node's own modules.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
  plugins: [withoutChildProcess],
};

await rm('dist', { recursive: true, force: true });
await Promise.all([
  build({ ...options, outdir: 'dist' }),
  ...ownBuilds.map((command) =>
    build({ ...options, outdir: `dist/${command}`, plugins: [withoutChildProcess, only(command)] }),
  ),
]);
