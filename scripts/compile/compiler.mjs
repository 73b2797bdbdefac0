// Has V8 compile the scripts of the bundles, so that their start neither parses nor compiles.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { build } from 'esbuild';
import { execa } from 'execa';

/** Milliseconds of a command that hangs. */
const timeoutMs = 60_000;

/**
 * Calls `use` with a function that writes the code compiled from a script: `compile(script, output, bundle)`. Without a
 * bundle, that code has no functions.
 */
export async function withCompiler(use) {
  const folder = await mkdtemp(join(tmpdir(), 'kubelet-ts-compiler-'));
  try {
    const compiler = join(folder, 'compile.mjs');
    await build({
      entryPoints: [join(import.meta.dirname, 'compile.mjs')],
      outfile: compiler,
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20.19',
      banner: { js: "import { createRequire as cr } from 'node:module'; const require = cr(import.meta.url);" },
    });
    return await use((script, output, bundle = []) =>
      execa(process.execPath, [compiler, script, output].concat(bundle), { timeout: timeoutMs }),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The name of the code for this Node. Any other Node compiles the script itself. */
export const cacheName = (bundle) => `${bundle}-${process.version}-${process.arch}.cache`;
