// Builds one executable that needs no Node on the machine: a copy of the newest Node with long-term support that
// contains the program, as one of Node's "single executable applications".
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build, transform } from 'esbuild';
import { execa } from 'execa';
import { bundleOptions } from '../bundle-options.mjs';
import { billOfMaterials, licences } from './licences.mjs';

const root = join(import.meta.dirname, '../..');
export const nodeRelease = '24';
/** Node replaces this text in its copy when something is injected. From Node's manual. */
const sentinelFuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/** Writes the executable for this architecture. Replaces the file atomically, so that a running one keeps running. */
export async function makeExecutable(output) {
  const folder = await mkdtemp(join(tmpdir(), 'kubelet-ts-executable-'));
  const file = (name) => join(folder, name);
  try {
    const { stdout: bin } = await execa(join(root, 'scripts/fetch-node'), [nodeRelease, join(root, '.cache')]);
    const node = join(bin, 'node');
    const { script, metafile } = await bundle();
    await writeFile(file('main.cjs'), script);
    await writeFile(file('licences'), await licences(metafile, join(bin, 'LICENSE')));
    await writeFile(file('sbom.json'), await billOfMaterials(metafile, node));
    await writeFile(
      file('config.json'),
      JSON.stringify({
        main: file('main.cjs'),
        output: file('blob'),
        assets: { licences: file('licences'), 'sbom.json': file('sbom.json') },
        // Node then accepts no options from the environment and, after "--", none from our command line: --env-file is
        // ours.
        execArgv: ['--max-semi-space-size=1', '--max-old-space-size=1024', '--'],
        execArgvExtension: 'none',
        useCodeCache: true,
        disableExperimentalSEAWarning: true,
      }),
    );
    await execa(node, ['--experimental-sea-config', file('config.json')]);
    await execa('strip', ['-o', file('kubelet-ts'), node]);
    // Runs in a separate process, because it prints warnings about sections of Node that it does not change.
    const injected = [file('kubelet-ts'), 'NODE_SEA_BLOB', file('blob')];
    await execa('postject', [...injected, '--sentinel-fuse', sentinelFuse], { preferLocal: true, localDir: root });
    await mkdir(dirname(output), { recursive: true });
    await execa('install', ['-m', '0755', file('kubelet-ts'), `${output}.${process.pid}`]);
    await rename(`${output}.${process.pid}`, output);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Bundles the program as one CommonJS script, which is what Node 24 starts in an executable. It is an ES module first,
 * because only there does esbuild allow the top-level await in ink's layout.
 */
async function bundle() {
  const options = { ...bundleOptions, absWorkingDir: root, write: false, metafile: true, legalComments: 'none' };
  const { outputFiles, metafile } = await build(options);
  const { code } = await transform(outputFiles[0].text, {
    format: 'cjs',
    platform: 'node',
    target: bundleOptions.target,
    minifyWhitespace: true,
    define: { 'import.meta.url': '"file:///kubelet-ts"' },
  });
  return { script: code, metafile };
}
