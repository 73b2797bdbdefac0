// What the bundles of dist/ and of the executable have in common, for esbuild.
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { build } from 'esbuild';

/** Bundles of commands whose start counts. bin/kubelet-ts has the same list. */
export const ownBuilds = { agent: ['run', 'run-once'], ps: ['ps'], top: ['top'], ui: ['ui'] };

/** commander would load it for commands that are programs of their own, which takes 2 ms. */
export const withoutChildProcess = {
  name: 'commander-without-child-process',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:child_process$/ }, ({ importer, path }) =>
      importer.includes('/node_modules/commander/') ? { path, namespace: 'empty' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'empty' }, () => ({ contents: 'module.exports = {}' }));
  },
};

/** Leaves out all other commands, and links these into the entry. */
export const only = (commands) => ({
  name: 'only-some-commands',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\/[a-z-]+\.ts$/ }, ({ kind, importer, path }) =>
      kind === 'dynamic-import' && basename(importer) === 'program.ts' ? { path, external: true } : undefined,
    );
    onLoad({ filter: /\/src\/commands\/program\.ts$/ }, async ({ path }) => {
      let contents = await readFile(path, 'utf8');
      for (const [index, command] of commands.entries()) {
        const linked = contents.replace(`import('./${command}.ts')`, `Promise.resolve(command${index})`);
        contents = `import * as command${index} from './${command}.ts';\n${linked}`;
      }
      return { contents, loader: 'ts' };
    });
    // Most agents need it, so it is in the start. It still runs on use.
    onLoad({ filter: /\/src\/node\/log\/create-logger\.ts$/ }, async ({ path }) => {
      const contents = await readFile(path, 'utf8');
      return {
        contents: contents.replace(/\bimport\(('.\/log-text.ts')\)/, 'Promise.resolve(require($1))'),
        loader: 'ts',
      };
    });
  },
});

export const bundleOptions = {
  entryPoints: { main: 'src/main.ts' },
  bundle: true,
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
  // Never loaded here: only ink's development tools and gRPC's statistics use them, and both stay off.
  external: ['react-devtools-core', '@grpc/proto-loader'],
};

/** The script of a common `ps`, as a CommonJS module. Its dynamic imports are in it. */
export async function quickScript(root) {
  const { outputFiles } = await build({
    ...bundleOptions,
    absWorkingDir: root,
    entryPoints: ['src/commands/ps/quick-ps.ts'],
    legalComments: 'none',
    format: 'cjs',
    write: false,
  });
  return outputFiles[0].text;
}
