// Bundles src/ into dist/: a small entry, and a chunk for each command and each heavy library, loaded on use. Commands
// whose start counts are there once more, each in a folder of its own whose start is one script, because loading the
// many small chunks that all commands share costs more than their content.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { build } from 'esbuild';
import { bundleOptions, only, ownBuilds, withoutChildProcess } from './bundle-options.mjs';
import { joinStart } from './join-start.mjs';

const options = { ...bundleOptions, chunkNames: 'chunks/[name]-[hash]', splitting: true };

// CommonJS libraries call require() for Node's own modules.
const banner =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);\n";

async function buildOwn(command) {
  const outdir = `dist/${command}`;
  const plugins = [withoutChildProcess, only(command)];
  const files = await joinStart(await build({ ...options, outdir, plugins, write: false, metafile: true }));
  await mkdir(`${outdir}/chunks`, { recursive: true });
  for (const [name, text] of files)
    await writeFile(`${outdir}/${name}`, name.endsWith('.js') ? `${banner}${text}` : text);
}

await rm('dist', { recursive: true, force: true });
await Promise.all([
  build({ ...options, outdir: 'dist', banner: { js: banner }, plugins: [withoutChildProcess] }),
  ...ownBuilds.map(buildOwn),
]);
