// Bundles src/ into dist/: one small entry and a chunk for each command and each heavy library, loaded when used. The agent
// is in dist/run/ once more, by itself: what all commands share is cut into chunks so small that loading them one by one
// costs more than what is in them.
import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { build } from 'esbuild';

const options = {
  entryPoints: { main: 'src/main.ts' },
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'linked',
  loader: { '.bin': 'binary' },
  // The same library as modules: only what is used of it gets into a chunk, and no token is looked up in process.env.
  // The e2e tests build from another folder.
  alias: { yaml: join(import.meta.dirname, '../node_modules/yaml/browser/index.js') },
  define: { 'process.env.NODE_ENV': '"production"', 'process.env.DEV': '"false"' },
  // Libraries written as CommonJS call require() for what Node brings.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
  // Never called for here: they are loaded by development tools of ink and by statistics of gRPC that stay off.
  external: ['react-devtools-core', '@grpc/proto-loader'],
};

/** Leaves out all commands but one. */
const only = (command) => ({
  name: 'only-one-command',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/[a-z-]+\.ts$/ }, ({ kind, importer, path }) =>
      kind === 'dynamic-import' && basename(importer) === 'program.ts' && path !== `./${command}.ts`
        ? { path, external: true }
        : undefined,
    );
  },
});

await rm('dist', { recursive: true, force: true });
await Promise.all([
  build({ ...options, outdir: 'dist' }),
  build({ ...options, outdir: 'dist/run', plugins: [only('run')] }),
]);
