// Options for esbuild that the bundles in dist/ and in the executable share.
import { join } from 'node:path';

export const bundleOptions = {
  entryPoints: { main: 'src/main.ts' },
  outdir: 'dist',
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'linked',
  loader: { '.bin': 'binary' },
  alias: {
    // The same library as ES modules, so that only the parts in use are bundled. The e2e tests build in another folder.
    yaml: join(import.meta.dirname, '../node_modules/yaml/browser/index.js'),
    // ink's development tools, which are in a package that is not installed.
    'react-devtools-core': join(import.meta.dirname, 'no-devtools.mjs'),
  },
  define: {
    'process.env.NODE_ENV': '"production"',
    'process.env.DEV': '"false"',
    // Native add-ons that would only make `ws` faster.
    'process.env.WS_NO_BUFFER_UTIL': '"1"',
    'process.env.WS_NO_UTF_8_VALIDATE': '"1"',
  },
  // Never loaded here: only gRPC's statistics use it, and they are off.
  external: ['@grpc/proto-loader'],
};
