// Builds the image archives for the tests.
// node scripts/build-test-images.mjs <cache folder> [busybox] [flock] [etcd] [control-plane] [stand-ins]
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const [folder, ...names] = process.argv.slice(2);
if (folder === undefined) {
  console.error('usage: build-test-images.mjs <cache folder> [busybox] [flock] [etcd] [control-plane] [stand-ins]');
  process.exit(2);
}
const cache = resolve(folder);
await mkdir(cache, { recursive: true });
const outfile = join(cache, 'build-test-images.mjs');
await build({
  entryPoints: [join(import.meta.dirname, '../test/images/build-test-images.ts')],
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  logLevel: 'warning',
  outfile,
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
});
const { buildTestImages } = await import(pathToFileURL(outfile).href);
try {
  for (const archive of await buildTestImages(cache, names)) console.log(archive);
} catch (error) {
  console.error(error.hint === undefined ? error : `${error.message}. ${error.hint}`);
  process.exitCode = 1;
}
