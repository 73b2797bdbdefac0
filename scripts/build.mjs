// Bundles src/ into dist/: a small entry, and a chunk for each command and each heavy library, loaded on use. Commands
// whose start counts are there once more, each in a folder of its own and in few pieces, because loading the many small
// chunks that all commands share costs more than their content. bin/kubelet-ts has the same list.
import { readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { build } from 'esbuild';

const ownBuilds = ['run', 'ps', 'top'];

/** commander would load it for commands that are programs of their own, which takes 2 ms. */
const withoutChildProcess = {
  name: 'commander-without-child-process',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:child_process$/ }, ({ importer, path }) =>
      importer.includes('/node_modules/commander/') ? { path, namespace: 'empty' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'empty' }, () => ({ contents: 'module.exports = {}' }));
  },
};

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
  plugins: [withoutChildProcess],
  // Never loaded here: only ink's development tools and gRPC's statistics use them, and both stay off.
  external: ['react-devtools-core', '@grpc/proto-loader'],
};

/** Leaves out all commands but one, and links that one into the entry. */
const only = (command) => ({
  name: 'only-one-command',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\/[a-z-]+\.ts$/ }, ({ kind, importer, path }) =>
      kind === 'dynamic-import' && basename(importer) === 'program.ts' ? { path, external: true } : undefined,
    );
    onLoad({ filter: /\/src\/commands\/program\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const linked = text.replace(`await import('./${command}.ts')`, 'theCommand');
      return { contents: `import * as theCommand from './${command}.ts';\n${linked}`, loader: 'ts' };
    });
  },
});

await rm('dist', { recursive: true, force: true });
await Promise.all([
  build({ ...options, outdir: 'dist' }),
  ...ownBuilds.map((command) =>
    build({ ...options, outdir: `dist/${command}`, plugins: [withoutChildProcess, only(command)] }),
  ),
]);
