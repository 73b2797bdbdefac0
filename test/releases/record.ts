import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstat, mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { execa } from 'execa';
import { systemClock } from '../../src/clock.ts';
import { ContainerState, PodSandboxState } from '../../src/cri/generated/cri.ts';
import { FakeCriServer } from '../fakes/fake-cri-server.ts';
import { FakeRuntime } from '../fakes/fake-runtime.ts';
import { appliedManifest, recordedManifests, stoppedManifest } from './recorded-pods.ts';
import {
  manifestsFolder,
  recordedCgroupRoot,
  recordedImageId,
  recordedRootDir,
  releaseText,
  withoutDefaults,
  type RecordedFile,
  type RecordedRelease,
} from './recorded-release.ts';

/** Called by scripts/record-release, in a mount namespace of its own. Prints what PROGRAM leaves of its pods. */
const [program = '', commit = ''] = process.argv.slice(2);

const socketPath = '/run/cri.sock';
const runtime = new FakeRuntime({ clock: systemClock });
runtime.imageMountpoint = '/';
runtime.addImage('localhost/busybox:1', { id: recordedImageId });
runtime.script('prepare', { exitAfterMs: 1 });
runtime.script('main', { exitAfterMs: 1 });
const server = new FakeCriServer(runtime);
await server.start({ socketPath });

await mkdir(manifestsFolder);
const manifests = Object.fromEntries(
  Object.entries({ ...recordedManifests, 'stopped.json': stoppedManifest }).map(([name, manifest]) => [
    name,
    JSON.stringify(manifest),
  ]),
);
for (const [name, text] of Object.entries(manifests)) await writeFile(join(manifestsFolder, name), text);

const node = ['--root-dir', recordedRootDir];
const agent = spawn(
  program,
  [
    ...['run', manifestsFolder, ...node, '--pod-logs-dir', join(recordedRootDir, 'logs')],
    ...['--cgroup-root', recordedCgroupRoot, '--hostname-override', 'edge1', '--healthz-port', '0'],
    ...['--container-runtime-endpoint', `unix://${socketPath}`, '--no-tui'],
  ],
  { stdio: ['ignore', 'ignore', 'pipe'] },
);
process.once('exit', () => agent.kill('SIGKILL'));
const ended = once(agent, 'exit');
await new Promise<void>((resolve) => {
  createInterface({ input: agent.stderr }).on('line', (line) => {
    process.stderr.write(`${line}\n`);
    if (line.includes('Container runtime is ready')) resolve();
  });
});

const { stdout: help } = await execa(program, ['help']);
const knows = (command: string): boolean => new RegExp(`^ +${command}\\b`, 'm').test(help);
const call = (command: string, ...words: string[]) => execa(program, [command, ...node, ...words]);
const untilReady = (pod: string) => call('wait', pod, '--timeout', '60s');

await Promise.all(['web', 'named', 'stopped'].map(untilReady));
await call('wait', 'job', '--for', 'completed', '--timeout', '60s');
runtime.exitContainer({ pod: 'web-edge1', container: 'helper' }, 3);
await runtime.waitForCall('createContainer', ({ config }) => config?.metadata?.attempt === 1);
await untilReady('web');
if (knows('stop')) {
  await call('stop', 'stopped');
  await runtime.waitForCall('stopPodSandbox');
}
if (knows('apply')) {
  await execa(program, ['apply', ...node, '-f', '-'], { input: JSON.stringify(appliedManifest) });
  await untilReady('applied');
}
agent.kill('SIGTERM');
await ended;
server.stop();

const { items } = await runtime.listPodSandbox();
const { containers } = await runtime.listContainers();
const release: RecordedRelease = {
  commit,
  manifests,
  files: await filesBelow(recordedRootDir),
  sandboxes: runtime.requestsOf('runPodSandbox').flatMap((request) => {
    const { uid, attempt } = request.config?.metadata ?? {};
    return items
      .filter(({ metadata }) => metadata?.uid === uid && metadata?.attempt === attempt)
      .map(({ id, state }) => ({
        id,
        isReady: state === PodSandboxState.SANDBOX_READY,
        request: withoutDefaults(request),
      }));
  }),
  containers: (
    await Promise.all(
      runtime.requestsOf('createContainer').map(async (request) => {
        const { name, attempt } = request.config?.metadata ?? {};
        const found = containers.find(
          ({ podSandboxId, metadata }) =>
            podSandboxId === request.podSandboxId && metadata?.name === name && metadata?.attempt === attempt,
        );
        if (found === undefined) return [];
        const { status } = await runtime.containerStatus({ containerId: found.id });
        const hasEnded = status?.state === ContainerState.CONTAINER_EXITED;
        return [{ id: found.id, ...(hasEnded && { exitCode: status.exitCode }), request: withoutDefaults(request) }];
      }),
    )
  ).flat(),
};
process.stdout.write(releaseText(release));

/** Sockets are left out. */
async function filesBelow(folder: string): Promise<RecordedFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => !entry.isSocket()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(
    paths.sort().map(async (path) => {
      const stats = await lstat(path);
      return {
        path: relative(folder, path),
        mode: (stats.mode & 0o7777).toString(8),
        ...(stats.isFile() && { text: await readFile(path, 'utf8') }),
        ...(stats.isSymbolicLink() && { target: await readlink(path) }),
      };
    }),
  );
}
