import { join, relative } from 'node:path';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

const repository = join(import.meta.dirname, '../..');

/** Packages and files of ours that loading this module loads, without what it imports when it is used. */
async function loadedWith(module: string): Promise<string[]> {
  return (await startOf(module)).modules;
}

interface Start {
  modules: string[];
  scripts: string[];
}

const starts = new Map<string, Promise<Start>>();

/** The modules that loading this module loads, and their scripts. */
function startOf(module: string): Promise<Start> {
  const start = starts.get(module) ?? buildStart(module);
  starts.set(module, start);
  return start;
}

async function buildStart(module: string): Promise<Start> {
  const { metafile, outputFiles } = await build({
    entryPoints: [join(repository, module)],
    absWorkingDir: repository,
    outdir: 'dist',
    write: false,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    external: ['react-devtools-core', '@grpc/proto-loader'],
    loader: { '.bin': 'binary' },
    metafile: true,
    logLevel: 'silent',
  });
  const outputs = new Map(Object.entries(metafile.outputs));
  const [entry = ''] = [...outputs].find(([, { entryPoint }]) => entryPoint === module) ?? [];
  const loaded = new Set([entry]);
  for (const path of loaded) {
    for (const imported of outputs.get(path)?.imports ?? []) {
      if (imported.kind === 'import-statement' && outputs.has(imported.path)) loaded.add(imported.path);
    }
  }
  const inputs = [...loaded].flatMap((path) => Object.keys(outputs.get(path)?.inputs ?? {}));
  const modules = inputs.map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? path);
  const scripts = outputFiles.filter(({ path }) => loaded.has(relative(repository, path))).map(({ text }) => text);
  return { modules: [...new Set(modules)], scripts };
}

test('the agent starts without what only few nodes need', async () => {
  const loaded = await loadedWith('src/commands/run.ts');
  expect(loaded).toEqual(expect.arrayContaining(['@grpc/grpc-js', 'pino', 'src/engine/kubelet.ts']));
  const rarelyNeeded = [
    ...['ink', 'react', 'dbus-native', 'execa', 'ws', 'tar-stream'],
    ...['src/tui/screen.ts', 'src/containerd/managed-containerd.ts', 'src/containerd/managed-images.ts'],
    ...['src/engine/container-manager/systemd-cgroup-manager.ts', 'src/engine/lifecycle/dbus-logind.ts'],
    ...['src/engine/images/credential-plugin.ts', 'src/cri/generated/health.ts', 'src/node/log/log-text.ts'],
  ];
  expect(loaded.filter((module) => rarelyNeeded.includes(module))).toEqual([]);
});

// esbuild escapes other letters, except in regular expressions and templates with a tag.
test('the agent is plain ASCII, because one other letter doubles the memory for its text', async () => {
  const { scripts } = await startOf('src/commands/run.ts');
  expect(scripts.join('\n').length).toBeGreaterThan(1_000_000);
  expect(scripts.flatMap((script) => script.match(/.{0,30}[\u0080-\uffff].{0,30}/g) ?? [])).toEqual([]);
});

test('help and version need no command', async () => {
  const loaded = await loadedWith('src/commands/program.ts');
  expect(loaded.filter((module) => !module.startsWith('src/')).toSorted()).toEqual(['commander', 'package.json']);
});

test('the first frame of the screen needs no ink', async () => {
  const loaded = await loadedWith('src/tui/screen.ts');
  expect(loaded).toEqual(expect.arrayContaining(['src/tui/frame-lines.ts']));
  expect(loaded.filter((module) => ['ink', 'react', 'yoga-layout'].includes(module))).toEqual([]);
});
