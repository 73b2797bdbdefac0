// Bundles src/ into dist/: a small entry, and a chunk for each command and each heavy library, loaded on use.
// dist/run/ has the agent once more in one piece, because loading the many small shared chunks costs more than their
// content.
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
  // The same library as ES modules, so that only its used parts are bundled. It does not read process.env. The path
  // is absolute because the e2e tests build from another folder.
  alias: { yaml: join(import.meta.dirname, '../node_modules/yaml/browser/index.js') },
  define: { 'process.env.NODE_ENV': '"production"', 'process.env.DEV': '"false"' },
  // CommonJS libraries call require() for Node's own modules.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
  // Never loaded here: only ink's development tools and gRPC's statistics use them, and both stay off.
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
