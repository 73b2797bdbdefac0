// Bundles src/ into dist/: a small entry, and a chunk for each command and each heavy library, loaded on use. Commands
// whose start counts are there once more, in folders of their own whose start is one script, because loading the many
// small chunks that all commands share costs more than their content. V8's code of that script is beside it.
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { build } from 'esbuild';
import { bundleOptions, only, ownBuilds, quickScript, withoutChildProcess } from './bundle-options.mjs';
import { cacheName, withCompiler } from './compile/compiler.mjs';
import { joinStart } from './join-start.mjs';

const options = { ...bundleOptions, chunkNames: 'chunks/[name]-[hash]', splitting: true };

// CommonJS libraries call require() for Node's own modules.
const banner =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);\n";

async function buildOwn(name, commands, compile) {
  const outdir = `dist/${name}`;
  const plugins = [withoutChildProcess, only(commands)];
  const { start, chunks } = await joinStart(await build({ ...options, outdir, plugins, write: false, metafile: true }));
  await mkdir(`${outdir}/chunks`, { recursive: true });
  for (const [chunk, text] of chunks)
    await writeFile(`${outdir}/chunks/${chunk}`, chunk.endsWith('.js') ? `${banner}${text}` : text);
  await copyFile(join(import.meta.dirname, 'compile/load-script.cjs'), `${outdir}/main.cjs`);
  await writeFile(`${outdir}/${name}.js`, start);
  try {
    await compile(`${outdir}/${name}.js`, `${outdir}/${cacheName(name)}`, name);
  } catch (error) {
    // Without that code, the program starts more slowly.
    process.stderr.write(`warning: V8's code of ${outdir} was not made: ${error.message}\n`);
  }
}

await rm('dist', { recursive: true, force: true });
await withCompiler((compile) =>
  Promise.all([
    build({ ...options, outdir: 'dist', banner: { js: banner }, plugins: [withoutChildProcess] }),
    ...Object.entries(ownBuilds).map(([name, commands]) => buildOwn(name, commands, compile)),
  ]),
);
await writeFile('dist/ps/quick.cjs', await quickScript());
